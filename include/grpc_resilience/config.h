// What a Resilience object is built from: policies per target and per method.
//
//   Config config;                                    // good defaults
//   config.Method("/shop.Inventory/GetStock").retry.max_attempts = 4;
//   config.Method("/shop.Inventory/*").retry.idempotency = Idempotency::kIdempotent;
//   config.Target("payments:443").breaker.failure_rate_threshold = 0.3;
//   config.Target("payments:443").Method("/pay.Payments/Charge").retry.max_attempts = 1;
//   auto resilience = Resilience::Create(std::move(config));
//
// The most specific policy applies, whole (nothing is inherited field by field,
// as in gRPC's service config), whatever the order of setting:
//   1. the target's own:  exact method, then "/pkg.Service/*", then its default
//   2. for every target:  exact method, then "/pkg.Service/*", then the default
// A target's own default counts only when TargetConfig::DefaultMethod was called.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "grpc_resilience/breaker_policy.h"
#include "grpc_resilience/fallback.h"
#include "grpc_resilience/fallback_rules.h"
#include "grpc_resilience/hedging_policy.h"
#include "grpc_resilience/retry_policy.h"
#include "grpc_resilience/stream_policy.h"

namespace grpc_resilience {

/// BreakerKey::custom of the calls beyond Config::max_custom_keys.
inline constexpr std::string_view kOverflowKey = "(other)";

/// What the request and response objects of a method are.
enum class MessageKind {
  /// Found out safely at the first call; a method whose objects can't be known
  /// is passed through (breaker yes, retry no) and reported once.
  kDetect,
  /// grpc::ByteBuffer (GenericStub).
  kBytes,
};

/// A value type.
struct MethodPolicy {
  RetryPolicy retry;
  /// Set, and the method is idempotent: hedged instead of retried. Of `retry` the
  /// limits, the idempotency and chain_stop still hold; max_attempts, backoff and
  /// retryable_status_codes don't. Default unset: not hedged.
  std::optional<HedgingPolicy> hedging;
  /// Only read for streams.
  StreamPolicy stream;
  /// The call ends at the caller's deadline or after this time, whichever comes
  /// first. Range: > 0. Default unset: only the caller's deadline.
  std::optional<Duration> timeout;
  /// Default: kDetect.
  MessageKind message_kind = MessageKind::kDetect;
  /// True: calls of the method go through as if the library weren't there: never
  /// rejected, retried, limited nor counted. For health checks, reflection and
  /// administration, which must reach a target whose breaker is open.
  /// Default: false.
  bool bypass = false;
  /// Asked in this order when a call came to nothing; the first that answers wins
  /// (fallback.h). Range: no null. Default: none.
  std::vector<std::shared_ptr<FallbackSource>> fallbacks;
  FallbackRules fallback_rules;
};

/// Method policies by pattern: "/pkg.Service/Method" or "/pkg.Service/*".
/// Not safe for use from several threads at once.
class MethodPolicies {
 public:
  /// The policy of that pattern, made with the library's defaults at the first
  /// call. The reference stays valid as long as this object. A malformed pattern
  /// is reported by Resilience::Create.
  MethodPolicy& Method(std::string_view pattern);
  /// The policy for methods that no pattern matches.
  MethodPolicy& DefaultMethod();

  const std::map<std::string, MethodPolicy, std::less<>>& by_pattern() const {
    return by_pattern_;
  }
  /// Empty when DefaultMethod was never called.
  const std::optional<MethodPolicy>& default_method() const {
    return default_method_;
  }

 private:
  std::map<std::string, MethodPolicy, std::less<>> by_pattern_;
  std::optional<MethodPolicy> default_method_;
};

/// Everything about one target. Not safe for use from several threads at once.
class TargetConfig : public MethodPolicies {
 public:
  BreakerPolicy breaker;
  RetryThrottlePolicy throttle;
};

/// Not safe for use from several threads at once.
class Config : public MethodPolicies {
 public:
  /// Settings of the target of that exact name (the string given to
  /// CreateChannel; "localhost:1" and "dns:///localhost:1" are two targets). Made
  /// as a copy of nothing: it starts from the library's defaults.
  TargetConfig& Target(std::string_view target);
  /// Settings of every target without its own.
  TargetConfig& DefaultTarget() { return default_target_; }

  /// Breakers kept at most; beyond it idle CLOSED ones that no channel uses are
  /// dropped, never an OPEN one. Range: [1, 10000000]. Default: 10000.
  int max_breakers = 10000;
  /// A breaker that no channel uses, that is CLOSED and whose mode is AUTO is
  /// dropped after this time; when another one is made, a few are looked at.
  /// Range: ≥ 1 s; counted in whole seconds, rounded up. Default unset: only
  /// max_breakers drops.
  std::optional<Duration> breaker_idle_time;
  /// Different results of BreakerPolicy::key_function that get breakers of their
  /// own, in all and for good; further ones share the breaker with the custom key
  /// kOverflowKey. Range: [1, 1000000]. Default: 1000.
  int max_custom_keys = 1000;
  /// Bytes that all streams of the process together keep to send again; a stream
  /// that would need more isn't retried. Range: ≥ 0. Default: 16 MiB.
  std::int64_t max_replay_bytes = std::int64_t{16} * 1024 * 1024;

  const std::map<std::string, TargetConfig, std::less<>>& targets() const {
    return targets_;
  }
  const TargetConfig& default_target() const { return default_target_; }

  /// OK, or INVALID_ARGUMENT whose message has one line for every fault, each
  /// naming where, the field, the value and what is allowed.
  absl::Status Validate() const;

 private:
  std::map<std::string, TargetConfig, std::less<>> targets_;
  TargetConfig default_target_;
};

}  // namespace grpc_resilience

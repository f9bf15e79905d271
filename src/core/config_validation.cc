#include "core/config_validation.h"

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/breaker_validation.h"
#include "core/fallback_validation.h"
#include "core/fault_list.h"
#include "core/method_pattern.h"

namespace grpc_resilience::internal {
namespace {

enum class Covers { kOneMethod, kManyMethods };

// --- Patterns and names
// -------------------------------------------------------

void CheckPattern(absl::string_view pattern, FaultsOf faults) {
  if (IsMethodPattern(pattern)) return;
  if (const std::string slashed = absl::StrCat("/", pattern);
      IsMethodPattern(slashed)) {
    return faults.Add(
        absl::StrCat("must begin with a slash: ", Quoted(slashed)));
  }
  if (pattern == "*" || pattern == "/*" || pattern == "/*/*") {
    return faults.Add("not a pattern; DefaultMethod() is for every method");
  }
  faults.Add("must look like \"/pkg.Service/Method\" or \"/pkg.Service/*\"");
}

bool IsHeaderName(absl::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                         c == '-' || c == '_' || c == '.';
    if (!allowed) return false;
  }
  return true;
}

// --- Method policies
// ----------------------------------------------------------

void CheckKeyHeader(const RetryPolicy& retry, FaultsOf faults) {
  if (!retry.idempotency_key_header) return;
  constexpr char kField[] = "retry.idempotency_key_header";
  const std::string& name = *retry.idempotency_key_header;
  if (!IsHeaderName(name)) {
    faults.Add(kField, Quoted(name),
               "must be a header name of lower-case letters, digits, '-', '_' "
               "and '.'");
  } else if (absl::StartsWith(name, "grpc-")) {
    faults.Add(kField, Quoted(name), "\"grpc-\" names belong to gRPC");
  } else if (absl::EndsWith(name, "-bin")) {
    faults.Add(kField, Quoted(name), "\"-bin\" names hold binary values");
  }
  if (retry.idempotency == Idempotency::kNonIdempotent) {
    faults.Add(kField, Quoted(name),
               "contradicts retry.idempotency = kNonIdempotent");
  }
}

// Where nothing can make the method idempotent, a code that may come after the
// request took effect would be listed in vain.
bool OnlyHarmlessCodes(const RetryPolicy& retry, Covers covers) {
  if (retry.idempotency_key_header) return false;
  return retry.idempotency == Idempotency::kNonIdempotent ||
         (retry.idempotency == Idempotency::kFromProto &&
          covers == Covers::kOneMethod);
}

void CheckCodes(const RetryPolicy& retry, Covers covers, FaultsOf faults) {
  if (!retry.retryable_status_codes) return;
  const bool only_harmless = OnlyHarmlessCodes(retry, covers);
  for (const StatusCode code : *retry.retryable_status_codes) {
    const int number = static_cast<int>(code);
    std::string fault;
    if (number < 0 || number > 16) {
      fault = "not a gRPC status code";
    } else if (code == StatusCode::OK || code == StatusCode::CANCELLED) {
      fault = "never retried";
    } else if (only_harmless && code != StatusCode::UNAVAILABLE &&
               code != StatusCode::RESOURCE_EXHAUSTED) {
      fault =
          "must be UNAVAILABLE or RESOURCE_EXHAUSTED, unless retry.idempotency "
          "is kIdempotent or retry.idempotency_key_header is set";
    } else {
      continue;
    }
    faults.Add(absl::StrCat("retry.retryable_status_codes contains ",
                            StatusCodeName(code), ": ", fault));
  }
}

void CheckBackoff(const BackoffPolicy& backoff, FaultsOf faults) {
  faults.Positive("retry.backoff.initial_backoff", backoff.initial_backoff);
  faults.NotBelow("retry.backoff.max_backoff", backoff.max_backoff,
                  "retry.backoff.initial_backoff", backoff.initial_backoff);
  faults.InRange("retry.backoff.backoff_multiplier", backoff.backoff_multiplier,
                 kMultipliers);
  faults.Defined("retry.backoff.jitter", backoff.jitter, Jitter::kRatio);
  faults.InRange("retry.backoff.jitter_ratio", backoff.jitter_ratio,
                 Interval{0, 10});
}

void CheckHedging(const MethodPolicy& policy, FaultsOf faults) {
  if (!policy.hedging) return;
  const HedgingPolicy& hedging = *policy.hedging;
  faults.AtLeast("hedging.max_hedged_attempts", hedging.max_hedged_attempts, 2);
  faults.NotNegative("hedging.hedging_delay", hedging.hedging_delay);
  if (hedging.delay_quantile) {
    faults.InRange("hedging.delay_quantile", *hedging.delay_quantile,
                   Interval{0, 1, /*low_open=*/true, /*high_open=*/true});
  }
  faults.InRange("hedging.delay_minimum_calls", hedging.delay_minimum_calls, 1,
                 1000);
  for (const StatusCode code : hedging.non_fatal_status_codes) {
    const int number = static_cast<int>(code);
    if (number >= 0 && number <= 16 && code != StatusCode::OK &&
        code != StatusCode::CANCELLED) {
      continue;
    }
    faults.Add(absl::StrCat("hedging.non_fatal_status_codes contains ",
                            StatusCodeName(code), ": ",
                            number < 0 || number > 16 ? "not a gRPC status code"
                                                      : "ends every call"));
  }
  if (policy.retry.idempotency == Idempotency::kNonIdempotent) {
    faults.Add("hedging", "set",
               "contradicts retry.idempotency = kNonIdempotent");
  }
}

void CheckStream(const StreamPolicy& stream, FaultsOf faults) {
  constexpr int kMostBytes = 1 << 30;
  faults.InRange("stream.replay_bytes", stream.replay_bytes, 0, kMostBytes);
  faults.NotNegative("stream.initial_metadata_grace",
                     stream.initial_metadata_grace);
  faults.InRange("stream.write_behind_bytes", stream.write_behind_bytes, 0,
                 kMostBytes);
  faults.InRange("stream.read_ahead_messages", stream.read_ahead_messages, 1,
                 10000);
}

void CheckMethodPolicy(const MethodPolicy& policy, Covers covers,
                       FaultsOf faults) {
  const RetryPolicy& retry = policy.retry;
  faults.AtLeast("retry.max_attempts", retry.max_attempts, 1);
  CheckBackoff(retry.backoff, faults);
  if (retry.per_attempt_timeout) {
    faults.Positive("retry.per_attempt_timeout", *retry.per_attempt_timeout);
  }
  CheckCodes(retry, covers, faults);
  faults.Defined("retry.idempotency", retry.idempotency,
                 Idempotency::kNonIdempotent);
  CheckKeyHeader(retry, faults);
  faults.NotNegative("retry.min_attempt_time", retry.min_attempt_time);
  faults.NotNegative("retry.reserve", retry.reserve);
  CheckHedging(policy, faults);
  if (policy.timeout) faults.Positive("timeout", *policy.timeout);
  faults.Defined("message_kind", policy.message_kind, MessageKind::kBytes);
  CheckFallbacks(policy, faults);
  CheckStream(policy.stream, faults);
}

// `prefix` is "" or ends with a space: "target \"payments:443\" ".
void CheckMethods(const MethodPolicies& methods, absl::string_view prefix,
                  FaultLines* lines) {
  if (methods.default_method()) {
    CheckMethodPolicy(*methods.default_method(), Covers::kManyMethods,
                      FaultsOf(absl::StrCat(prefix, "default method"), lines));
  }
  for (const auto& [pattern, policy] : methods.by_pattern()) {
    const FaultsOf faults(absl::StrCat(prefix, "method ", Quoted(pattern)),
                          lines);
    CheckPattern(pattern, faults);
    CheckMethodPolicy(
        policy, IsWildcard(pattern) ? Covers::kManyMethods : Covers::kOneMethod,
        faults);
  }
}

// --- Targets
// ------------------------------------------------------------------

void CheckTarget(const TargetConfig& target, const std::string& place,
                 FaultLines* lines) {
  FaultsOf faults(place, lines);
  CheckBreakerPolicy(target.breaker, faults);
  faults.InRange("throttle.max_tokens", target.throttle.max_tokens, 1, 1000);
  faults.InRange("throttle.token_ratio", target.throttle.token_ratio,
                 kTokenRatios);
  CheckMethods(target, absl::StrCat(place, " "), lines);
}

}  // namespace

absl::Status ValidateConfig(const Config& config) {
  FaultLines lines;
  FaultsOf own("config", &lines);
  own.InRange("max_breakers", config.max_breakers, 1, 10000000);
  own.InRange("max_custom_keys", config.max_custom_keys, 1, 1000000);
  if (config.max_replay_bytes < 0) {
    own.Add("max_replay_bytes", absl::StrCat(config.max_replay_bytes),
            "must be >= 0");
  }
  if (config.breaker_idle_time &&
      *config.breaker_idle_time < std::chrono::seconds(1)) {
    own.Add("breaker_idle_time", DurationText(*config.breaker_idle_time),
            "must be >= 1 s");
  }
  CheckMethods(config, "", &lines);
  CheckTarget(config.default_target(), "default target", &lines);
  for (const auto& [name, target] : config.targets()) {
    const std::string place = absl::StrCat("target ", Quoted(name));
    if (name.empty()) FaultsOf(place, &lines).Add("the name is empty");
    CheckTarget(target, place, &lines);
  }
  if (lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace grpc_resilience::internal

// Settings of the circuit breaker of one target.
//
//   config.Target("payments:443").breaker.failure_rate_threshold = 0.3;
//
// Out of the box the token bucket decides (see RetryThrottlePolicy): the breaker
// opens when the bucket is empty, that is when more than about 2/3 of the attempts
// keep failing. Setting failure_rate_threshold chooses the classic window rule.

#pragma once

#include <chrono>
#include <optional>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience {

enum class BreakerMode {
  kEnabled,   ///< counts, opens, rejects
  kDisabled,  ///< admits everything, counts nothing
};

/// Which calls share a breaker.
enum class BreakerScope {
  kTarget,  ///< all methods of the target: one bad method opens for all
  kTargetAndMethod,  ///< each method has its own
};

/// What a breaker counts.
enum class BreakerCounts { kAttempts };

/// A value type. Validated by Resilience::Create, which names each bad field.
struct BreakerPolicy {
  /// Default: kEnabled.
  BreakerMode mode = BreakerMode::kEnabled;
  /// Default: kTarget.
  BreakerScope scope = BreakerScope::kTarget;
  /// Each attempt on the wire is one outcome. Default: kAttempts.
  BreakerCounts counts = BreakerCounts::kAttempts;

  // --- When to open ---------------------------------------------------------

  /// Opens when at least this share of the last `window_calls` outcomes were
  /// failures. Range: (0, 1]. Default unset: the token bucket decides instead.
  std::optional<double> failure_rate_threshold;
  /// Size of the count window, in outcomes. Range: [1, 100000]. Default: 20.
  /// Only read when failure_rate_threshold is set.
  int window_calls = 20;
  /// No verdict before this many outcomes are in the window; only in state
  /// CLOSED. Range: [1, window_calls]. Default: 10.
  int minimum_calls = 10;

  // --- While open -----------------------------------------------------------

  /// How long the breaker stays open before it lets a probe through.
  /// Range: > 0. Default unset: 100 ms, growing by open_duration_multiplier on
  /// each failed round, ±20 % jitter, and ready for a probe early after
  /// early_probe_after_rejections rejected calls. Set: exactly this long.
  std::optional<Duration> open_duration;
  /// Growth of the open time after each failed half-open round.
  /// Range: [1, 1000]. Default unset: 1.6, or 1 (no growth) when open_duration
  /// is set.
  std::optional<double> open_duration_multiplier;
  /// The open time never grows beyond it. Range: ≥ open_duration. Default unset:
  /// 5 s, or open_duration when that is longer.
  std::optional<Duration> max_open_duration;
  /// Each open time is multiplied by 1 ± this. Range: [0, 1). Default unset:
  /// 0.2, or 0 when open_duration is set.
  std::optional<double> open_duration_jitter;
  /// Ready for a probe after this many rejected calls (and at least 80 ms), so
  /// that recovery is noticed at the pace of the traffic. Range: ≥ 0; 0 switches
  /// it off. Default unset: 100, or 0 when open_duration is set.
  std::optional<int> early_probe_after_rejections;

  // --- Half-open ------------------------------------------------------------

  /// Probes that must succeed before the breaker closes, and how many are let
  /// through at once. Range: [1, 10000]. Default: 2. With the token bucket the
  /// bucket itself decides (slow start 1, 3, 5, 7; closes above half full).
  int half_open_calls = 2;
  /// Probes in flight at once. Range: [1, half_open_calls]. Default unset:
  /// half_open_calls.
  std::optional<int> half_open_max_in_flight;
  /// A probe that hasn't reported after this long gives its slot back; its late
  /// result changes nothing. Range: > 0. Default: 30 s.
  Duration half_open_max_wait = std::chrono::seconds(30);

  // --- What counts ----------------------------------------------------------

  /// DEADLINE_EXCEEDED counts as a failure only when the attempt had at least
  /// this long (or its full per_attempt_timeout). Range: ≥ 0. Default: 50 ms.
  Duration min_deadline_for_failure = std::chrono::milliseconds(50);
  /// Overrides the outcome of an attempt. Default empty: outcome.h's table.
  OutcomePredicate outcome_predicate;
};

/// The token bucket of gRFC A6 `retryThrottling`: retry budget of a target, and
/// the default trip rule of its breaker. A failed attempt takes one token, a
/// successful one puts `token_ratio` back; a retry is allowed only while the
/// bucket is more than half full; an empty bucket opens the breaker.
/// A value type.
struct RetryThrottlePolicy {
  /// False: retries are never refused for want of tokens (the trip rule stays).
  /// Default: true.
  bool limits_retries = true;
  /// Range: [1, 1000] (A6). Default: 16.
  int max_tokens = 16;
  /// Tokens per success, three decimals are kept. Range: (0, 1000] (A6).
  /// Default: 2.
  double token_ratio = 2.0;
};

}  // namespace grpc_resilience

// Settings of the circuit breaker of one target.
//
//   config.Target("payments:443").breaker.failure_rate_threshold = 0.3;
//
// Out of the box the token bucket decides (see RetryThrottlePolicy): the breaker
// opens when the bucket is empty, that is when more than about 2/3 of the attempts
// keep failing. Setting any other rule (failure_rate_threshold,
// slow_call_rate_threshold, consecutive_failures) chooses it instead; several may
// be set, and any of them opens. trip_on_empty_bucket = true keeps the bucket among
// them.

#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/recovery_policy.h"

namespace grpc_resilience {

enum class BreakerMode {
  kEnabled,   ///< counts, opens, rejects
  kDisabled,  ///< admits everything, counts nothing
};

/// Which calls share a breaker.
enum class BreakerScope {
  kTarget,  ///< all methods of the target: one bad method opens for all
  kTargetAndMethod,  ///< each method has its own
  kKeyFunction,      ///< calls with the same BreakerPolicy::key_function result
};

/// What a breaker counts.
enum class BreakerCounts {
  kAttempts,  ///< each attempt on the wire asks and reports
  /// Each call asks once at its start and reports once at its end, so the
  /// breaker (and the retry budget) sees whether retrying worked. Retries of an
  /// admitted call ask nobody.
  kCalls,
};

/// Names the breaker of a call; asked once per method and channel, not per call.
/// Must be safe to use from several threads; when it throws or says "", the call
/// uses the breaker of its target.
using BreakerKeyFunction = std::function<std::string(std::string_view target,
                                                     std::string_view method)>;

/// A value type. Validated by Resilience::Create, which names each bad field.
struct BreakerPolicy {
  /// Default: kEnabled.
  BreakerMode mode = BreakerMode::kEnabled;
  /// Default: kTarget.
  BreakerScope scope = BreakerScope::kTarget;
  /// With kKeyFunction, and only then. Targets whose calls get the same key share
  /// one breaker, with the settings of the target that came first. At most
  /// Config::max_custom_keys are kept apart. Default empty.
  BreakerKeyFunction key_function;
  /// Default: kAttempts.
  BreakerCounts counts = BreakerCounts::kAttempts;

  // --- When to open ---------------------------------------------------------

  /// Opens when the token bucket is empty. Default unset: true when none of the
  /// other rules is set, else false (then the bucket is the retry budget only).
  /// False needs another rule.
  std::optional<bool> trip_on_empty_bucket;
  /// Opens when at least this share of the outcomes in the window were failures.
  /// Range: (0, 1]. Default unset: no such rule.
  std::optional<double> failure_rate_threshold;
  /// Opens when at least this share of the calls in the window took
  /// slow_call_duration or longer, failed or not; a call still in flight counts
  /// once Permit::MarkSlow said so. A slow probe is a failed probe. Range: (0, 1].
  /// Default unset: no such rule.
  std::optional<double> slow_call_rate_threshold;
  /// A call that takes this long or longer is slow. Range: > 0. Needed by
  /// slow_call_rate_threshold; beside failure_rate_threshold alone slow calls are
  /// only reported, and without one of these two rates no call is timed. Default
  /// unset: no call is timed.
  std::optional<Duration> slow_call_duration;
  /// Opens on this many failures in a row, whatever time lies between;
  /// RESOURCE_EXHAUSTED neither counts nor ends the row. Range: [1, 1000000].
  /// Default unset: no such rule.
  std::optional<int> consecutive_failures;

  /// Size of the count window, in outcomes. Range: [1, 100000]. Default: 20.
  /// Only read by the two rates, and without window_duration.
  int window_calls = 20;
  /// Set: the rates look at the outcomes of this last time instead. It is cut
  /// into window_buckets parts and moves on by one part at a time. Range: > 0, and
  /// at least 1 ns per bucket. Default unset: the last window_calls outcomes.
  std::optional<Duration> window_duration;
  /// Parts of the time window. Range: [1, 1000]. Default: 10.
  int window_buckets = 10;
  /// No verdict of a rate before this many outcomes are in the window; only in
  /// state CLOSED. Range: [1, window_calls], with window_duration [1, 1000000].
  /// Default: 10.
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
  /// Growth starts again when the breaker trips after having been CLOSED for this
  /// long; sooner, it goes on growing. Range: ≥ 0; 0: every closing starts again.
  /// Default unset: as long as its last open time.
  std::optional<Duration> open_duration_reset_after;
  /// Each open time is multiplied by 1 ± this, and is never longer than
  /// max_open_duration: where that equals open_duration, as it does by default
  /// from 5 s on, open times vary downwards only. Range: [0, 1). Default unset:
  /// 0.2, or 0 when open_duration is set.
  std::optional<double> open_duration_jitter;
  /// Ready for a probe after this many rejected calls (and at least 80 ms), so
  /// that recovery is noticed at the pace of the traffic. Range: ≥ 0; 0 switches
  /// it off. Default unset: 100, or 0 when open_duration is set.
  std::optional<int> early_probe_after_rejections;

  /// A server's hint when to come back (grpc-retry-pushback-ms,
  /// google.rpc.RetryInfo) that the call doesn't wait for, because it has no time
  /// or isn't retried, opens the breaker for that time, at most for this one.
  /// Only when the attempt counts as a failure. Range: > 0. Default unset: hints
  /// concern their own call alone.
  std::optional<Duration> max_hinted_open_duration;

  /// How the end of an outage is noticed.
  RecoveryPolicy recovery;

  // --- Half-open ------------------------------------------------------------

  /// Probes that must succeed before the breaker closes, and how many are let
  /// through at once. Range: [1, 10000]. Default: 2. With the token bucket as the
  /// only rule the bucket itself decides (slow start 1, 3, 5, 7; closes above half
  /// full).
  int half_open_calls = 2;
  /// Probes in flight at once. Range: [1, half_open_calls]. Default unset:
  /// half_open_calls.
  std::optional<int> half_open_max_in_flight;
  /// A probe that hasn't reported after this long gives its slot back; its late
  /// result changes nothing. Range: > 0. Default: 30 s.
  Duration half_open_max_wait = std::chrono::seconds(30);
  /// Limit of a probe's attempt, beside RetryPolicy::per_attempt_timeout; the
  /// shorter one holds. Range: > 0. Default unset: no other limit.
  std::optional<Duration> half_open_per_attempt_timeout;
  /// After the probes succeeded the breaker stays HALF_OPEN and lets these shares
  /// of the calls through, one after the other, each for half_open_ramp_step; then
  /// it closes. Which calls is counted, not drawn: at 0.25 the 1st, 5th, 9th, ….
  /// A failure before the first success at a share opens; later ones are judged by
  /// the trip rules. Range: each in (0, 1), growing, at most 10 of them. Default
  /// empty: closes at once. With the token bucket as the only rule: must be empty.
  std::vector<double> half_open_ramp;
  /// Range: > 0. Default: 1 s.
  Duration half_open_ramp_step = std::chrono::seconds(1);

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
/// bucket is more than half full; a failure that leaves it empty opens the breaker.
/// A retried code that is no failure of the target (ABORTED, listed in
/// RetryPolicy::retryable_status_codes) takes a token too, but never opens.
/// A value type.
struct RetryThrottlePolicy {
  /// False: retries are never refused for want of tokens (the trip rule stays).
  /// Default: true.
  bool limits_retries = true;
  /// Range: [1, 1000] (A6). Default: 16.
  int max_tokens = 16;
  /// Tokens per success, three decimals are kept. Range: [0.001, 1000].
  /// Default: 2.
  double token_ratio = 2.0;
};

}  // namespace grpc_resilience

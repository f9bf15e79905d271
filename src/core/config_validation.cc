#include "core/config_validation.h"

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/fault_list.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;

constexpr Interval kMultipliers = {1, 1000};
// Where open_duration isn't set.
constexpr Duration kDefaultOpenDuration = milliseconds(100);

enum class Covers { kOneMethod, kManyMethods };

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

// --- Patterns and names
// -------------------------------------------------------

bool IsWildcard(absl::string_view pattern) {
  return absl::EndsWith(pattern, "/*");
}

bool HasOnlyVisible(absl::string_view text) {
  for (const unsigned char c : text) {
    if (c <= ' ' || c == 0x7f) return false;
  }
  return true;
}

// "/pkg.Service/Method" or "/pkg.Service/*".
bool IsPattern(absl::string_view pattern) {
  if (!HasOnlyVisible(pattern) || !absl::StartsWith(pattern, "/")) return false;
  const std::size_t slash = pattern.find('/', 1);
  if (slash == absl::string_view::npos || slash == 1) return false;
  const absl::string_view method = pattern.substr(slash + 1);
  if (method.empty() || absl::StrContains(method, "/")) return false;
  if (absl::StrContains(pattern.substr(0, slash), "*")) return false;
  return method == "*" || !absl::StrContains(method, "*");
}

void CheckPattern(absl::string_view pattern, FaultsOf faults) {
  if (IsPattern(pattern)) return;
  if (const std::string slashed = absl::StrCat("/", pattern);
      IsPattern(slashed)) {
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
  if (policy.timeout) faults.Positive("timeout", *policy.timeout);
  faults.Defined("message_kind", policy.message_kind, MessageKind::kBytes);
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

bool SetsRuleBesideBucket(const BreakerPolicy& breaker) {
  return breaker.failure_rate_threshold || breaker.slow_call_rate_threshold ||
         breaker.consecutive_failures;
}

void CheckShare(absl::string_view field, const std::optional<double>& share,
                FaultsOf faults) {
  if (share) faults.InRange(field, *share, Interval{0, 1, /*low_open=*/true});
}

void CheckWindow(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.InRange("breaker.window_calls", breaker.window_calls, 1, 100000);
  faults.InRange("breaker.window_buckets", breaker.window_buckets, 1, 1000);
  if (!breaker.window_duration) {
    if (breaker.minimum_calls < 1 ||
        breaker.minimum_calls > breaker.window_calls) {
      faults.Add("breaker.minimum_calls", absl::StrCat(breaker.minimum_calls),
                 absl::StrCat("must be in [1, breaker.window_calls (",
                              breaker.window_calls, ")]"));
    }
    return;
  }
  faults.InRange("breaker.minimum_calls", breaker.minimum_calls, 1, 1000000);
  if (*breaker.window_duration <= Duration::zero()) {
    faults.Positive("breaker.window_duration", *breaker.window_duration);
  } else {
    faults.NotBelow("breaker.window_duration", *breaker.window_duration,
                    "1 ns for each of breaker.window_buckets",
                    Duration(breaker.window_buckets));
  }
}

void CheckTripRule(const BreakerPolicy& breaker, FaultsOf faults) {
  CheckShare("breaker.failure_rate_threshold", breaker.failure_rate_threshold,
             faults);
  CheckShare("breaker.slow_call_rate_threshold",
             breaker.slow_call_rate_threshold, faults);
  if (breaker.slow_call_duration) {
    faults.Positive("breaker.slow_call_duration", *breaker.slow_call_duration);
  } else if (breaker.slow_call_rate_threshold) {
    faults.Add(
        "breaker.slow_call_rate_threshold: needs breaker.slow_call_duration");
  }
  if (breaker.consecutive_failures) {
    faults.InRange("breaker.consecutive_failures",
                   *breaker.consecutive_failures, 1, 1000000);
  }
  CheckWindow(breaker, faults);
  if (!breaker.trip_on_empty_bucket.value_or(true) &&
      !SetsRuleBesideBucket(breaker)) {
    faults.Add("breaker.trip_on_empty_bucket", "false",
               "must be true when no other trip rule is set (mode = kDisabled "
               "switches the breaker off)");
  }
}

void CheckScope(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.Defined("breaker.scope", breaker.scope, BreakerScope::kKeyFunction);
  const bool by_function = breaker.scope == BreakerScope::kKeyFunction;
  if (by_function && !breaker.key_function) {
    faults.Add("breaker.key_function: must be set with scope = kKeyFunction");
  } else if (!by_function && breaker.key_function) {
    faults.Add("breaker.key_function: is set, but scope isn't kKeyFunction");
  }
}

void CheckRamp(const BreakerPolicy& breaker, FaultsOf faults) {
  constexpr char kField[] = "breaker.half_open_ramp";
  faults.Positive("breaker.half_open_ramp_step", breaker.half_open_ramp_step);
  if (breaker.half_open_ramp.size() > 10) {
    faults.Add(kField, absl::StrCat(breaker.half_open_ramp.size(), " shares"),
               "must be at most 10");
  }
  double before = 0;
  for (const double share : breaker.half_open_ramp) {
    if (!Interval{0, 1, true, true}.Contains(share)) {
      faults.Add(
          absl::StrCat(kField, " contains ", share, ": must be in (0, 1)"));
    } else if (share <= before) {
      faults.Add(absl::StrCat(kField, " contains ", share,
                              ": must be greater than the share before (",
                              before, ")"));
    }
    before = share;
  }
  if (!breaker.half_open_ramp.empty() && !SetsRuleBesideBucket(breaker)) {
    faults.Add(absl::StrCat(kField,
                            ": must be empty when the token bucket is the only "
                            "trip rule, which starts slowly by itself"));
  }
}

void CheckOpenTime(const BreakerPolicy& breaker, FaultsOf faults) {
  if (breaker.open_duration) {
    faults.Positive("breaker.open_duration", *breaker.open_duration);
  }
  if (breaker.open_duration_multiplier) {
    faults.InRange("breaker.open_duration_multiplier",
                   *breaker.open_duration_multiplier, kMultipliers);
  }
  if (breaker.max_open_duration) {
    faults.NotBelow("breaker.max_open_duration", *breaker.max_open_duration,
                    "breaker.open_duration",
                    breaker.open_duration.value_or(kDefaultOpenDuration));
  }
  if (breaker.open_duration_reset_after) {
    faults.NotNegative("breaker.open_duration_reset_after",
                       *breaker.open_duration_reset_after);
  }
  if (breaker.open_duration_jitter) {
    faults.InRange("breaker.open_duration_jitter",
                   *breaker.open_duration_jitter,
                   Interval{0, 1, /*low_open=*/false, /*high_open=*/true});
  }
  if (breaker.early_probe_after_rejections) {
    faults.AtLeast("breaker.early_probe_after_rejections",
                   *breaker.early_probe_after_rejections, 0);
  }
}

void CheckHalfOpen(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.InRange("breaker.half_open_calls", breaker.half_open_calls, 1, 10000);
  if (breaker.half_open_max_in_flight) {
    const int in_flight = *breaker.half_open_max_in_flight;
    if (in_flight < 1 || in_flight > breaker.half_open_calls) {
      faults.Add("breaker.half_open_max_in_flight", absl::StrCat(in_flight),
                 absl::StrCat("must be in [1, breaker.half_open_calls (",
                              breaker.half_open_calls, ")]"));
    }
  }
  faults.Positive("breaker.half_open_max_wait", breaker.half_open_max_wait);
  if (breaker.half_open_per_attempt_timeout) {
    faults.Positive("breaker.half_open_per_attempt_timeout",
                    *breaker.half_open_per_attempt_timeout);
  }
  CheckRamp(breaker, faults);
}

void CheckRecovery(const RecoveryPolicy& recovery, FaultsOf faults) {
  if (!recovery.background_probe) return;
  const BackgroundProbe& probe = *recovery.background_probe;
  const std::string field = "breaker.recovery.background_probe";
  if (!IsPattern(probe.method) || IsWildcard(probe.method)) {
    faults.Add(field + ".method", "\"" + probe.method + "\"",
               "must be of the form /pkg.Service/Method");
  }
  faults.Positive(field + ".timeout", probe.timeout);
  if (!recovery.watch_channel) {
    faults.Add(field + ": is set, but breaker.recovery.watch_channel is false");
  }
}

void CheckTarget(const TargetConfig& target, const std::string& place,
                 FaultLines* lines) {
  FaultsOf faults(place, lines);
  const BreakerPolicy& breaker = target.breaker;
  faults.Defined("breaker.mode", breaker.mode, BreakerMode::kDisabled);
  CheckScope(breaker, faults);
  faults.Defined("breaker.counts", breaker.counts, BreakerCounts::kCalls);
  CheckTripRule(breaker, faults);
  CheckOpenTime(breaker, faults);
  CheckRecovery(breaker.recovery, faults);
  CheckHalfOpen(breaker, faults);
  faults.NotNegative("breaker.min_deadline_for_failure",
                     breaker.min_deadline_for_failure);
  faults.InRange("throttle.max_tokens", target.throttle.max_tokens, 1, 1000);
  // Three decimals are kept: anything less is no token at all.
  faults.InRange("throttle.token_ratio", target.throttle.token_ratio,
                 Interval{0.001, 1000});
  CheckMethods(target, absl::StrCat(place, " "), lines);
}

}  // namespace

absl::Status ValidateConfig(const Config& config) {
  FaultLines lines;
  FaultsOf own("config", &lines);
  own.InRange("max_breakers", config.max_breakers, 1, 10000000);
  own.InRange("max_custom_keys", config.max_custom_keys, 1, 1000000);
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

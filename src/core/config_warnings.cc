#include "grpc_resilience/config_warnings.h"

#include "absl/strings/str_cat.h"
#include "core/duration_text.h"
#include "core/fault_list.h"
#include "grpc_resilience/retry_worst_case.h"

namespace grpc_resilience {
namespace internal {
namespace {

std::string AttemptsText(int count) {
  return absl::StrCat(count, count == 1 ? " attempt" : " attempts");
}

bool NeverRetries(const RetryPolicy& retry) {
  return retry.max_attempts <= 1 ||
         (retry.retryable_status_codes
              ? retry.retryable_status_codes->empty()
              : retry.idempotency == Idempotency::kNonIdempotent);
}

// The attempts run beside each other. With delay_quantile nobody knows yet when
// they begin.
void WarnOfHedging(const HedgingPolicy& hedging, Duration per_attempt,
                   Duration timeout, FaultsOf warnings) {
  const int delays = hedging.max_hedged_attempts - 1;
  if (hedging.delay_quantile || delays < 1) return;
  const bool endless =
      hedging.hedging_delay > (Duration::max() - per_attempt) / delays;
  const Duration time =
      endless ? Duration::max() : delays * hedging.hedging_delay + per_attempt;
  if (time <= timeout) return;
  warnings.Add(absl::StrCat("hedging: the worst case of ",
                            AttemptsText(delays + 1), " takes ",
                            DurationText(time), ", longer than timeout (",
                            DurationText(timeout), ")"));
}

void WarnOfWorstCase(const MethodPolicy& policy, FaultsOf warnings) {
  RetryPolicy retry = policy.retry;
  // Without a limit of its own every attempt may take all the time, by intent.
  if (policy.bypass || !policy.timeout || !retry.per_attempt_timeout) return;
  if (policy.hedging) {
    return WarnOfHedging(*policy.hedging, *retry.per_attempt_timeout,
                         *policy.timeout, warnings);
  }
  if (NeverRetries(retry)) retry.max_attempts = 1;
  const RetryWorstCase worst = WorstCaseOf(retry);
  if (*worst.time <= *policy.timeout) return;
  const int fitting = AttemptsThatFit(retry, *policy.timeout);
  warnings.Add(absl::StrCat(
      "retry: the worst case of ", AttemptsText(worst.attempts), " takes ",
      DurationText(*worst.time), ", longer than timeout (",
      DurationText(*policy.timeout), "), in which ", AttemptsText(fitting),
      fitting == 1 ? " fits" : " fit"));
}

void WarnOfMethods(const MethodPolicies& methods, absl::string_view prefix,
                   FaultLines* lines) {
  if (methods.default_method()) {
    WarnOfWorstCase(*methods.default_method(),
                    FaultsOf(absl::StrCat(prefix, "default method"), lines));
  }
  for (const auto& [pattern, policy] : methods.by_pattern()) {
    WarnOfWorstCase(
        policy,
        FaultsOf(absl::StrCat(prefix, "method ", Quoted(pattern)), lines));
  }
}

}  // namespace
}  // namespace internal

std::vector<std::string> Warnings(const Config& config) {
  internal::FaultLines lines;
  if (!config.Validate().ok()) return lines;
  internal::WarnOfMethods(config, "", &lines);
  internal::WarnOfMethods(config.default_target(), "default target ", &lines);
  for (const auto& [name, target] : config.targets()) {
    internal::WarnOfMethods(
        target, absl::StrCat("target ", internal::Quoted(name), " "), &lines);
  }
  return lines;
}

}  // namespace grpc_resilience

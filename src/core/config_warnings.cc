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

void WarnOfWorstCase(const MethodPolicy& policy, FaultsOf warnings) {
  RetryPolicy retry = policy.retry;
  // Without a limit of its own every attempt may take all the time, by intent.
  if (policy.bypass || !policy.timeout || !retry.per_attempt_timeout) return;
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

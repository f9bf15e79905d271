#include "grpc_resilience/call_options.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/duration_text.h"
#include "interceptor/call_override.h"

namespace grpc_resilience {
namespace {

void CheckPositive(const char* field, const std::optional<Duration>& value,
                   std::vector<std::string>* faults) {
  if (value && *value <= Duration::zero()) {
    faults->push_back(absl::StrCat(field, " = ", internal::DurationText(*value),
                                   ": must be > 0"));
  }
}

}  // namespace

absl::Status SetCallOptions(const CallOptions& options,
                            grpc::ClientContext* context) {
  std::vector<std::string> faults;
  if (options.max_attempts && *options.max_attempts < 1) {
    faults.push_back(absl::StrCat("max_attempts = ", *options.max_attempts,
                                  ": must be >= 1"));
  }
  CheckPositive("per_attempt_timeout", options.per_attempt_timeout, &faults);
  CheckPositive("timeout", options.timeout, &faults);
  if (!faults.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  }
  context->AddMetadata(internal::kCallOptionsKey, internal::ToText(options));
  return absl::OkStatus();
}

}  // namespace grpc_resilience

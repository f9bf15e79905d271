#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/method_config_export.h"
#include "config/target_policies.h"
#include "core/fault_list.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience {
namespace internal {
namespace {

// Of "/pkg.Service/Method" or "/pkg.Service/*".
void SetName(const std::string& pattern, config::v1::Name* name) {
  const std::size_t slash = pattern.rfind('/');
  name->set_service(pattern.substr(1, slash - 1));
  const std::string method = pattern.substr(slash + 1);
  if (method != "*") name->set_method(method);
}

void ExportThrottle(const RetryThrottlePolicy& throttle,
                    config::v1::ServiceConfig* out) {
  if (!throttle.limits_retries) return;
  out->mutable_retry_throttling()->set_max_tokens(throttle.max_tokens);
  out->mutable_retry_throttling()->set_token_ratio(throttle.token_ratio);
}

void ExportMethods(const TargetPolicies& policies,
                   config::v1::ServiceConfig* out, Differences* differences) {
  if (policies.default_method != nullptr) {
    config::v1::MethodConfig* method = out->add_method_config();
    method->add_name();
    ExportMethodPolicy(*policies.default_method, "default method", method,
                       differences);
  } else {
    differences->push_back(
        {"default method", "library defaults",
         "no retries: gRPC doesn't know which methods are idempotent"});
  }
  for (const auto& [pattern, policy] : policies.by_pattern) {
    config::v1::MethodConfig* method = out->add_method_config();
    SetName(pattern, method->add_name());
    ExportMethodPolicy(*policy, absl::StrCat("method ", Quoted(pattern)),
                       method, differences);
  }
}

}  // namespace
}  // namespace internal

absl::StatusOr<ServiceConfigExport> ExportServiceConfig(
    const Config& config, std::string_view target) {
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  ServiceConfigExport result;
  const TargetConfig& settings = internal::TargetOf(config, target);
  config::v1::ServiceConfig service_config;
  internal::ExportMethods(internal::PoliciesOf(config, settings),
                          &service_config, &result.differences);
  internal::ExportThrottle(settings.throttle, &service_config);

  if (settings.breaker.mode == BreakerMode::kEnabled) {
    result.differences.push_back(
        {"breaker", "kEnabled", "no breaker: gRPC has none"});
  }
  if (target.empty()) {
    for (const auto& [name, own] : config.targets()) {
      const std::string quoted =
          internal::Quoted(absl::string_view(name.data(), name.size()));
      result.differences.push_back(
          {absl::StrCat("target ", quoted), "settings of its own",
           absl::StrCat("not part of this one: ExportServiceConfig(config, ",
                        quoted, ")")});
    }
  }

  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  const auto printed = google::protobuf::util::MessageToJsonString(
      service_config, &result.json, options);
  if (!printed.ok()) return absl::InternalError(printed.ToString());
  return result;
}

}  // namespace grpc_resilience

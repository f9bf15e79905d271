#include "grpc_resilience/config.h"

#include "core/config_validation.h"

namespace grpc_resilience {

MethodPolicy& MethodPolicies::Method(std::string_view pattern) {
  return by_pattern_.try_emplace(std::string(pattern)).first->second;
}

MethodPolicy& MethodPolicies::DefaultMethod() {
  if (!default_method_) default_method_.emplace();
  return *default_method_;
}

TargetConfig& Config::Target(std::string_view target) {
  return targets_.try_emplace(std::string(target)).first->second;
}

absl::Status Config::Validate() const {
  return internal::ValidateConfig(*this);
}

}  // namespace grpc_resilience

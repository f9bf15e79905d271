#include "config/target_policies.h"

namespace grpc_resilience::internal {
namespace {

// "/pkg.Service/*" of "/pkg.Service/Method".
std::string WildcardOf(const std::string& pattern) {
  return pattern.substr(0, pattern.rfind('/') + 1) + "*";
}

}  // namespace

TargetPolicies PoliciesOf(const Config& config, const TargetConfig& target) {
  TargetPolicies policies;
  for (const auto& [pattern, policy] : target.by_pattern()) {
    policies.by_pattern.emplace(pattern, &policy);
  }
  if (target.default_method()) {
    policies.default_method = &*target.default_method();
    return policies;
  }
  for (const auto& [pattern, policy] : config.by_pattern()) {
    if (target.by_pattern().count(WildcardOf(pattern)) == 0) {
      policies.by_pattern.emplace(pattern, &policy);
    }
  }
  if (config.default_method()) {
    policies.default_method = &*config.default_method();
  }
  return policies;
}

const TargetConfig& TargetOf(const Config& config, std::string_view target) {
  const auto found = config.targets().find(target);
  return found != config.targets().end() ? found->second
                                         : config.default_target();
}

}  // namespace grpc_resilience::internal

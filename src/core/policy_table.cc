#include "core/policy_table.h"

#include <optional>
#include <utility>

namespace grpc_resilience::internal {
namespace {

// "/pkg.Service/*" for "/pkg.Service/Method".
std::string WildcardOf(std::string_view method) {
  const std::size_t slash = method.rfind('/');
  if (slash == std::string_view::npos) return std::string();
  return std::string(method.substr(0, slash + 1)) + "*";
}

// `place` is "" or "target payments:443, ".
std::optional<PolicyTable::Match> FindIn(const MethodPolicies& policies,
                                         std::string_view method,
                                         const std::string& place) {
  const auto& by_pattern = policies.by_pattern();
  auto found = by_pattern.find(method);
  if (found == by_pattern.end()) found = by_pattern.find(WildcardOf(method));
  if (found != by_pattern.end()) {
    return PolicyTable::Match{&found->second, place + "method " + found->first};
  }
  if (policies.default_method()) {
    return PolicyTable::Match{&*policies.default_method(),
                              place + "default method"};
  }
  return std::nullopt;
}

}  // namespace

const TargetConfig& PolicyTable::ForTarget(std::string_view target) const {
  const auto found = config_.targets().find(target);
  return found != config_.targets().end() ? found->second
                                          : config_.default_target();
}

PolicyTable::Match PolicyTable::ForMethod(std::string_view target,
                                          std::string_view method) const {
  const TargetConfig& own = ForTarget(target);
  const std::string place = &own == &config_.default_target()
                                ? "default target, "
                                : "target " + std::string(target) + ", ";
  if (auto match = FindIn(own, method, place)) return *std::move(match);
  if (auto match = FindIn(config_, method, "")) return *std::move(match);
  return {&library_defaults_, "library defaults"};
}

}  // namespace grpc_resilience::internal

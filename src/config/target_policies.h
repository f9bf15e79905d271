// The method policies that hold for one target, by precedence alike to that of a
// service config.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

/// Among these the most specific pattern applies. The pointers live as long as the
/// config.
struct TargetPolicies {
  std::map<std::string, const MethodPolicy*> by_pattern;
  /// Null: the library's defaults.
  const MethodPolicy* default_method = nullptr;
};

/// What Config's rules leave of both levels: a policy for every target is dropped
/// where a less specific one of the target's own goes before it.
TargetPolicies PoliciesOf(const Config& config, const TargetConfig& target);

/// `target` empty, or without its own: the default target.
const TargetConfig& TargetOf(const Config& config, std::string_view target);

}  // namespace grpc_resilience::internal

// The policies in force as messages. Functions (predicates, key functions) and the
// requests of background probes are left out.

#pragma once

#include <string>
#include <vector>

#include "core/breaker_rules.h"
#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

namespace pb = admin::v1;

pb::TargetPolicy ToProto(const BreakerPolicy& policy,
                         const RetryThrottlePolicy& throttle);

/// What opens a breaker of these rules: "the token bucket (16 tokens, 2 back per
/// success) is empty".
std::string OpensWhen(const BreakerRules& rules);

/// Every rule of the config, in the order in which they are tried: targets first.
std::vector<pb::ListPoliciesResponse::Rule> RulesOf(const Config& config);

/// "target payments:443" or "default target".
std::string TargetRuleOf(const Config& config, const std::string& target);

}  // namespace grpc_resilience::internal

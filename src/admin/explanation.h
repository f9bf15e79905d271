// Why a breaker is as it is, in words and figures.

#pragma once

#include "admin/messages.h"
#include "core/breaker_rules.h"
#include "grpc_resilience/admin/v1/admin.pb.h"

namespace grpc_resilience::internal {

/// Fills summary, details and figures.
void Explain(const BreakerSnapshot& snapshot, const BreakerRules& rules,
             const WallTime& time, pb::ExplainBreakerResponse* response);

}  // namespace grpc_resilience::internal

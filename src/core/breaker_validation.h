// What is wrong with the settings of a breaker.

#pragma once

#include "core/fault_list.h"
#include "grpc_resilience/breaker_policy.h"

namespace grpc_resilience::internal {

/// Adds a line for each fault.
void CheckBreakerPolicy(const BreakerPolicy& breaker, FaultsOf faults);

}  // namespace grpc_resilience::internal

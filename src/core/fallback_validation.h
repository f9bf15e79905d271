// What can be wrong with the fallbacks of a method.

#pragma once

#include "core/fault_list.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

void CheckFallbacks(const MethodPolicy& policy, FaultsOf faults);

}  // namespace grpc_resilience::internal

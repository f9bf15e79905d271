// Count windows that open too rarely to wait for it.

#pragma once

#include "grpc_resilience/trip_rule_planner.h"

namespace grpc_resilience::internal {

/// Mean number of calls until an empty window opens, when that is many windows
/// away. The failures in a window that moves on with every call reach the
/// threshold from below at a known rate per call, but in clumps, of which only
/// the first opens. What share is the first of its clump is simulated, looking
/// back from such a moment. `failure_rate` > 0.
CallsToOpen CallsToOpenRarely(const PlannedCountWindow& window,
                              double failure_rate);

}  // namespace grpc_resilience::internal

// Count windows too large for an exact answer.

#pragma once

#include "grpc_resilience/trip_rule_planner.h"

namespace grpc_resilience::internal {

/// Mean number of calls until an empty window opens; infinite at failure rate 0.
/// The window is run until it has opened often enough. Where that would take too
/// long, the rate of opening is worked out for a full window instead
/// (count_window_rarely.h). Always the same result for the same arguments.
CallsToOpen SimulatedCallsToOpen(const PlannedCountWindow& window,
                                 double failure_rate);

}  // namespace grpc_resilience::internal

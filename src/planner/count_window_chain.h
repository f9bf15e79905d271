// A small count window as a Markov chain over the outcomes it holds.

#pragma once

#include "grpc_resilience/trip_rule_planner.h"

namespace grpc_resilience::internal {

/// 2^20 states take about a second.
constexpr int kMaxExactWindowCalls = 20;

/// Mean number of calls until an empty window opens, to about ten digits;
/// infinite at failure rate 0. At most kMaxExactWindowCalls; valid otherwise.
double ExactCallsToOpen(const PlannedCountWindow& window, double failure_rate);

}  // namespace grpc_resilience::internal

// The checks that the planner's functions share.

#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "core/fault_list.h"

namespace grpc_resilience::internal {

constexpr int kMaxWindowCalls = 100'000;
constexpr double kSecondsPerDay = 86'400;
constexpr Interval kProbability = {0, 1};
constexpr Interval kThreshold = {0, 1, /*low_open=*/true};
constexpr Interval kCallsPerSecond = {0, 1e9};

/// OK, or INVALID_ARGUMENT with all lines.
inline absl::Status StatusOf(const FaultLines& lines) {
  if (lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace grpc_resilience::internal

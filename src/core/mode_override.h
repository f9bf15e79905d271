// The operator's word, and until when it holds.

#pragma once

#include <optional>
#include <string>
#include <utility>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/operator_mode.h"

namespace grpc_resilience::internal {

/// A value type.
struct ModeOverride {
  OperatorMode mode = OperatorMode::kAuto;
  std::optional<TimePoint> until;  ///< unset: for good
  std::string reason;

  bool OverAt(TimePoint now) const { return until && now >= *until; }
  /// In force at `now`.
  OperatorMode At(TimePoint now) const {
    return OverAt(now) ? OperatorMode::kAuto : mode;
  }
};

}  // namespace grpc_resilience::internal

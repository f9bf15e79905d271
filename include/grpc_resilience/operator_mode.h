// What an operator may tell a breaker at run time.
//
//   breaker->ForceMode(OperatorMode::kForcedOpen, std::chrono::minutes(10),
//                      "alice: database is being moved");
//   breaker->ForceMode(OperatorMode::kAuto, std::nullopt, "alice: done");

#pragma once

#include <string_view>

namespace grpc_resilience {

enum class OperatorMode {
  kAuto,  ///< the state decides
  /// Rejects everything and counts nothing; the state is kept for later.
  kForcedOpen,
  /// Admits everything. Only the retry budget is counted; the state is kept for
  /// later, and a CLOSED one then begins with nothing counted.
  kForcedClosed,
  /// Changes states as kAuto does but rejects nothing: counts what it would have
  /// rejected, and how many of those calls then succeeded.
  kShadow,
};

/// "AUTO", "FORCED_OPEN", "FORCED_CLOSED", "SHADOW".
std::string_view ToString(OperatorMode mode);

}  // namespace grpc_resilience

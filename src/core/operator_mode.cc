#include "grpc_resilience/operator_mode.h"

namespace grpc_resilience {

std::string_view ToString(OperatorMode mode) {
  switch (mode) {
    case OperatorMode::kAuto:
      return "AUTO";
    case OperatorMode::kForcedOpen:
      return "FORCED_OPEN";
    case OperatorMode::kForcedClosed:
      return "FORCED_CLOSED";
    case OperatorMode::kShadow:
      return "SHADOW";
  }
  return "UNKNOWN";
}

}  // namespace grpc_resilience

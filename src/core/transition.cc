#include "grpc_resilience/transition.h"

namespace grpc_resilience {

std::string_view ToString(State state) {
  switch (state) {
    case State::kClosed:
      return "CLOSED";
    case State::kOpen:
      return "OPEN";
    case State::kHalfOpen:
      return "HALF_OPEN";
  }
  return "UNKNOWN";
}

std::string_view ToString(TransitionReason reason) {
  switch (reason) {
    case TransitionReason::kTripRule:
      return "TRIP_RULE";
    case TransitionReason::kServerHint:
      return "SERVER_HINT";
    case TransitionReason::kOpenTimeOver:
      return "OPEN_TIME_OVER";
    case TransitionReason::kProbeFailed:
      return "PROBE_FAILED";
    case TransitionReason::kProbesSucceeded:
      return "PROBES_SUCCEEDED";
    case TransitionReason::kReset:
      return "RESET";
    case TransitionReason::kModeForced:
      return "MODE_FORCED";
    case TransitionReason::kModeOver:
      return "MODE_OVER";
  }
  return "UNKNOWN";
}

}  // namespace grpc_resilience

// Every change of state that a breaker may make, as data.

#pragma once

#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

struct LegalTransition {
  State from;
  State to;
  TransitionReason reason;
};

inline constexpr LegalTransition kLegalTransitions[] = {
    {State::kClosed, State::kOpen, TransitionReason::kTripRule},
    {State::kClosed, State::kOpen, TransitionReason::kServerHint},
    {State::kHalfOpen, State::kOpen, TransitionReason::kServerHint},
    {State::kOpen, State::kHalfOpen, TransitionReason::kOpenTimeOver},
    {State::kHalfOpen, State::kOpen, TransitionReason::kProbeFailed},
    {State::kHalfOpen, State::kClosed, TransitionReason::kProbesSucceeded},
    {State::kOpen, State::kClosed, TransitionReason::kReset},
    {State::kHalfOpen, State::kClosed, TransitionReason::kReset},
    // On the ramp the trip rules judge again.
    {State::kHalfOpen, State::kOpen, TransitionReason::kTripRule},
    // The operator's mode is beside the state.
    {State::kClosed, State::kClosed, TransitionReason::kModeForced},
    {State::kOpen, State::kOpen, TransitionReason::kModeForced},
    {State::kHalfOpen, State::kHalfOpen, TransitionReason::kModeForced},
    {State::kClosed, State::kClosed, TransitionReason::kModeOver},
    {State::kOpen, State::kOpen, TransitionReason::kModeOver},
    {State::kHalfOpen, State::kHalfOpen, TransitionReason::kModeOver},
};

constexpr bool IsLegal(State from, State to, TransitionReason reason) {
  for (const LegalTransition& legal : kLegalTransitions) {
    if (legal.from == from && legal.to == to && legal.reason == reason) {
      return true;
    }
  }
  return false;
}

}  // namespace grpc_resilience::internal

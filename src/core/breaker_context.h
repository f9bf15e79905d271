// What a breaker shares with every other one of the same settings.

#pragma once

#include "core/breaker_rules.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/random.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

/// Immutable, so safe to use from several threads at once. What it refers to
/// outlives it.
struct BreakerContext {
  BreakerRules rules;
  const Clock& clock;
  Random& random;
  TransitionSink* sink;  ///< may be null
};

}  // namespace grpc_resilience::internal

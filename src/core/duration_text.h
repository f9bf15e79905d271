// Durations for people: "15 s", "1500 ms", "250 us".

#pragma once

#include <string>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// In the largest of s, ms, us, ns that is exact.
std::string DurationText(Duration duration);

}  // namespace grpc_resilience::internal

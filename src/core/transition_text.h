// TransitionEvent::why and BreakerSnapshot::last_failure, in words.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {

/// "3 failures of the last 6 calls".
std::string WindowTrippedText(int failures, int calls);
/// "token bucket empty: 16 failures".
std::string BucketEmptyText(std::uint32_t failures);
/// "15 s passed".
std::string TimePassedText(Duration open_time);
/// "100 calls rejected".
std::string CallsRejectedText(std::uint64_t calls);
/// "2 probes succeeded".
std::string ProbesSucceededText(int probes);

/// "UNAVAILABLE: connection refused"; of the message at most 200 bytes, cut
/// between characters.
std::string FailureText(StatusCode code, std::string_view message);

}  // namespace grpc_resilience::internal

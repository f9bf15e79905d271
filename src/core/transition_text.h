// TransitionEvent::why and BreakerSnapshot::last_failure, in words.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/window_totals.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/operator_mode.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {

/// "3 failures of the last 6 calls".
std::string WindowTrippedText(std::int64_t failures, std::int64_t calls);
/// That, or "12 of 20 failed in 10 s" when `window` isn't 0.
std::string FailureRateText(const WindowTotals& totals, Duration window);
/// "12 of the last 20 calls took 500 ms or longer", "12 of 20 took 500 ms or
/// longer in 10 s".
std::string SlowRateText(const WindowTotals& totals, Duration slow,
                         Duration window);
/// "5 failures in a row".
std::string FailuresInRowText(int failures);
/// "FORCED_OPEN for 60 s: reason"; without the time when it is for good, without
/// the reason when that is empty. A reason is cut at 200 bytes.
std::string ModeForcedText(OperatorMode mode, std::optional<Duration> ttl,
                           std::string_view reason);
/// "FORCED_OPEN is over".
std::string ModeOverText(OperatorMode mode);
/// "failed at 25 % of the calls".
std::string RampFailedText(int permille);
/// "a call took 500 ms or longer".
std::string SlowCallText(Duration slow);
/// "token bucket empty: 16 failures".
std::string BucketEmptyText(std::uint32_t failures);
/// "the server asked for 30 s".
std::string ServerHintText(Duration hinted);
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

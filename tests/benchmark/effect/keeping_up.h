// Open-loop calls on a machine that is too busy pile up until nothing of a scenario is
// left to see. A program that notices ends with an exit code of its own, and effect.sh
// repeats the run.

#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "benchmark/effect/call_record.h"

namespace grpc_resilience::bench {

[[noreturn]] inline void CannotKeepUp(std::string_view what) {
  std::cerr << "the machine can't keep up: " << what << std::endl;
  std::_Exit(3);
}

/// How long a backend is healthy first.
constexpr std::chrono::seconds kHealthyTime(2);

/// The calls of kHealthyTime, but those of its first second, which wait for the
/// connection.
inline void RequireKeepingUp(const CallRecords& calls) {
  constexpr std::chrono::seconds kStartUp(1);
  constexpr double kLongMilliseconds = 100;
  if (calls.empty()) CannotKeepUp("no call is over");
  const CallRecords connected =
      StartedIn(calls, calls.front().start + kStartUp, TimePoint::max());
  if (connected.size() < 100 || SuccessPercent(connected) < 99) {
    CannotKeepUp("calls to a healthy backend fail");
  }
  if (Milliseconds(connected, 0.99) > kLongMilliseconds) {
    CannotKeepUp("calls to a healthy backend take more than 100 ms");
  }
}

}  // namespace grpc_resilience::bench

// What became of calls, and figures made from it.

#pragma once

#include <optional>
#include <vector>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::bench {

/// One call. A value type.
struct CallRecord {
  TimePoint start;
  TimePoint end;
  bool ok = false;
  /// As ours reports; 1 for the others. 0: rejected by the breaker.
  int attempts = 1;
};
using CallRecords = std::vector<CallRecord>;

/// Those that started from `begin` up to, but not including, `end`.
CallRecords StartedIn(const CallRecords& calls, TimePoint begin, TimePoint end);

double SuccessPercent(const CallRecords& calls);
double AttemptsPerCall(const CallRecords& calls);
/// The time that `share` of the calls don't exceed; 0 without calls.
double Milliseconds(const CallRecords& calls, double share);

/// From `healed` to the begin of the first 500 ms of which at least 99 % of the
/// calls that started in them succeeded. Empty: none up to `end`.
std::optional<Duration> TimeToRecover(const CallRecords& calls,
                                      TimePoint healed, TimePoint end);

}  // namespace grpc_resilience::bench

// What became of the calls of one channel, and figures made from it.

#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "grpc_resilience/clock.h"

namespace demo {

using grpc_resilience::Duration;
using grpc_resilience::TimePoint;

/// One call. A value type.
struct CallRecord {
  TimePoint start;
  TimePoint end;
  bool ok = false;
  /// Tries handed to gRPC; 0: rejected by the breaker.
  int attempts = 1;
  /// Why a call of ours ended as it did; empty when nothing is worth saying.
  std::string reason;

  bool rejected() const { return !ok && attempts == 0; }
};

/// From `begin` up to, but not including, `end`.
struct Period {
  TimePoint begin;
  TimePoint end;
};

using CallRecords = std::vector<CallRecord>;

/// This type is safe to use from several threads at once.
class CallLog {
 public:
  void Add(const CallRecord& record);
  CallRecords All() const;
  /// The calls that ended in `period`.
  CallRecords EndedIn(const Period& period) const;
  /// The calls that started and ended in `period`.
  CallRecords Within(const Period& period) const;

 private:
  mutable std::mutex mu_;
  CallRecords records_;
};

/// Figures of some calls. Empty percentiles: there were no calls.
struct Summary {
  int calls = 0;
  int ok = 0;
  int failed = 0;    ///< not OK although at least one attempt was made
  int rejected = 0;  ///< not OK, answered by the breaker without an attempt
  int retries = 0;   ///< attempts after the first
  int attempts = 0;
  std::optional<double> p50_ms;
  std::optional<double> p99_ms;

  double success_percent() const { return calls ? 100.0 * ok / calls : 0; }
  double attempts_per_call() const {
    return calls ? static_cast<double>(attempts) / calls : 0;
  }
};

Summary Summarize(const CallRecords& calls);

/// Only those that the breaker rejected.
CallRecords Rejected(const CallRecords& calls);

/// From `period.begin` to the begin of the first 500 ms in which at least 99 %
/// of the calls that ended were OK, and at least `least_calls` did. Empty:
/// there was no such time.
std::optional<Duration> TimeToRecover(const CallLog& log, const Period& period,
                                      int least_calls);

}  // namespace demo

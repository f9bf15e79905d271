#include "benchmark/effect/call_record.h"

#include <algorithm>
#include <iterator>

#include "benchmark/measurements.h"

namespace grpc_resilience::bench {
namespace {

constexpr std::chrono::milliseconds kWindow(500);
constexpr std::chrono::milliseconds kStep(1);

}  // namespace

CallRecords StartedIn(const CallRecords& calls, TimePoint begin,
                      TimePoint end) {
  CallRecords chosen;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(chosen),
               [&](const CallRecord& call) {
                 return call.start >= begin && call.start < end;
               });
  return chosen;
}

double SuccessPercent(const CallRecords& calls) {
  if (calls.empty()) return 0;
  const auto ok = std::count_if(calls.begin(), calls.end(),
                                [](const CallRecord& c) { return c.ok; });
  return 100.0 * static_cast<double>(ok) / static_cast<double>(calls.size());
}

double AttemptsPerCall(const CallRecords& calls) {
  if (calls.empty()) return 0;
  double attempts = 0;
  for (const CallRecord& call : calls) attempts += call.attempts;
  return attempts / static_cast<double>(calls.size());
}

double Milliseconds(const CallRecords& calls, double share) {
  if (calls.empty()) return 0;
  std::vector<double> times;
  for (const CallRecord& call : calls) {
    times.push_back(
        std::chrono::duration<double, std::milli>(call.end - call.start)
            .count());
  }
  return Percentile(std::move(times), share);
}

std::optional<Duration> TimeToRecover(const CallRecords& calls,
                                      TimePoint healed, TimePoint end) {
  CallRecords after = StartedIn(calls, healed, end);
  std::sort(after.begin(), after.end(),
            [](const CallRecord& a, const CallRecord& b) {
              return a.start < b.start;
            });
  const auto starts_before = [](const CallRecord& call, TimePoint time) {
    return call.start < time;
  };
  for (TimePoint begin = healed; begin + kWindow <= end; begin += kStep) {
    const auto first =
        std::lower_bound(after.begin(), after.end(), begin, starts_before);
    const auto last =
        std::lower_bound(first, after.end(), begin + kWindow, starts_before);
    if (first != last && SuccessPercent(CallRecords(first, last)) >= 99) {
      return begin - healed;
    }
  }
  return std::nullopt;
}

}  // namespace grpc_resilience::bench

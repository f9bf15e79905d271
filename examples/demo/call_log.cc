#include "call_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace demo {
namespace {

constexpr std::chrono::milliseconds kRecoveryWindow(500);
constexpr double kRecoveredPercent = 99;

// The smallest of the values that at least `share` of them don't exceed.
std::optional<double> Percentile(const std::vector<double>& sorted,
                                 double share) {
  if (sorted.empty()) return std::nullopt;
  const auto rank = static_cast<std::size_t>(std::ceil(share * sorted.size()));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

void CallLog::Add(const CallRecord& record) {
  std::lock_guard<std::mutex> lock(mu_);
  records_.push_back(record);
}

CallRecords CallLog::All() const {
  std::lock_guard<std::mutex> lock(mu_);
  return records_;
}

CallRecords CallLog::EndedIn(const Period& period) const {
  std::lock_guard<std::mutex> lock(mu_);
  CallRecords found;
  std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
               [&](const CallRecord& call) {
                 return call.end >= period.begin && call.end < period.end;
               });
  return found;
}

CallRecords CallLog::Within(const Period& period) const {
  CallRecords found = EndedIn(period);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const CallRecord& call) {
                               return call.start < period.begin;
                             }),
              found.end());
  return found;
}

Summary Summarize(const CallRecords& calls) {
  Summary summary;
  std::vector<double> latencies_ms;
  for (const CallRecord& call : calls) {
    ++summary.calls;
    if (call.ok) {
      ++summary.ok;
    } else if (call.rejected()) {
      ++summary.rejected;
    } else {
      ++summary.failed;
    }
    summary.attempts += call.attempts;
    summary.retries += std::max(call.attempts - 1, 0);
    latencies_ms.push_back(
        std::chrono::duration<double, std::milli>(call.end - call.start)
            .count());
  }
  std::sort(latencies_ms.begin(), latencies_ms.end());
  summary.p50_ms = Percentile(latencies_ms, 0.50);
  summary.p99_ms = Percentile(latencies_ms, 0.99);
  return summary;
}

CallRecords Rejected(const CallRecords& calls) {
  CallRecords found;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(found),
               [](const CallRecord& call) { return call.rejected(); });
  return found;
}

std::optional<Duration> TimeToRecover(const CallLog& log, const Period& period,
                                      int least_calls) {
  CallRecords calls = log.EndedIn(period);
  std::sort(
      calls.begin(), calls.end(),
      [](const CallRecord& a, const CallRecord& b) { return a.end < b.end; });
  for (const CallRecord& first : calls) {
    const Period window{first.end, first.end + kRecoveryWindow};
    if (window.end > period.end) break;
    const Summary summary = Summarize(log.EndedIn(window));
    if (summary.calls >= least_calls &&
        summary.success_percent() >= kRecoveredPercent) {
      return window.begin - period.begin;
    }
  }
  return std::nullopt;
}

}  // namespace demo

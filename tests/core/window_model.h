// The breaker's window of outcomes as plainly as can be: every outcome is kept.

#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "grpc_resilience/breaker_policy.h"

namespace grpc_resilience {

/// By calls or by time, as the policy says. Not safe for use from several threads
/// at once.
class WindowModel {
 public:
  explicit WindowModel(const BreakerPolicy& policy) : policy_(policy) {}

  void Record(bool failed, TimePoint now) {
    if (Buckets() > 0) {
      last_time_.emplace_back(PeriodOf(now), failed);
      while (last_time_.front().first <= PeriodOf(now) - Buckets()) {
        last_time_.pop_front();
      }
    } else if (Calls() > 0) {
      last_calls_.push_back(failed);
      if (static_cast<int>(last_calls_.size()) > Calls()) {
        last_calls_.pop_front();
      }
    }
  }

  /// Calls and failures.
  std::pair<int, int> At(TimePoint now) const {
    std::pair<int, int> totals{0, 0};
    for (const bool failed : last_calls_) {
      ++totals.first;
      totals.second += failed ? 1 : 0;
    }
    for (const auto& [period, failed] : last_time_) {
      if (period <= PeriodOf(now) - Buckets()) continue;
      ++totals.first;
      totals.second += failed ? 1 : 0;
    }
    return totals;
  }

  void Reconfigure(const BreakerPolicy& policy) {
    const BreakerPolicy before = policy_;
    const std::int64_t buckets_before = Buckets();
    policy_ = policy;
    while (static_cast<int>(last_calls_.size()) > Calls()) {
      last_calls_.pop_front();
    }
    if (Buckets() != buckets_before ||
        (Buckets() > 0 && before.window_duration != policy_.window_duration)) {
      last_time_.clear();
    }
  }

  void Clear() {
    last_calls_.clear();
    last_time_.clear();
  }

 private:
  bool HasRate() const { return policy_.failure_rate_threshold.has_value(); }
  int Calls() const {
    return HasRate() && !policy_.window_duration ? policy_.window_calls : 0;
  }
  std::int64_t Buckets() const {
    return HasRate() && policy_.window_duration ? policy_.window_buckets : 0;
  }
  std::int64_t PeriodOf(TimePoint now) const {
    return now.time_since_epoch() /
           (*policy_.window_duration / policy_.window_buckets);
  }

  BreakerPolicy policy_;
  std::deque<bool> last_calls_;
  std::deque<std::pair<std::int64_t, bool>> last_time_;  // period, failed
};

}  // namespace grpc_resilience

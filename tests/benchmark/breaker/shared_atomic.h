// Peer: calls and failures in one shared atomic word, which begins anew after
// every hundred calls. No clock while closed.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "benchmark/breaker/trip_switch.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class SharedAtomic {
 public:
  explicit SharedAtomic(std::chrono::nanoseconds open_duration)
      : switch_(open_duration) {}

  bool Call(bool failed) {
    if (!switch_.Admit()) return false;
    if (!switch_.closed()) {
      switch_.Judge(failed);
      return true;
    }
    const std::uint64_t added = 1 + (failed ? kOneFailure : 0);
    const std::uint64_t counts =
        counts_.fetch_add(added, std::memory_order_acq_rel) + added;
    if ((counts & kCallsMask) < kMinimumCalls) return true;
    counts_.store(0, std::memory_order_relaxed);
    if (static_cast<double>(counts >> 32) >= kThreshold * kMinimumCalls) {
      switch_.Open();
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kOneFailure = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kCallsMask = kOneFailure - 1;

  TripSwitch switch_;
  std::atomic<std::uint64_t> counts_{0};
};

}  // namespace grpc_resilience::bench

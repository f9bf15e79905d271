// Peer: a count window of a hundred outcomes as a lock-free ring.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "benchmark/breaker/trip_switch.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class LockFreeRing {
 public:
  explicit LockFreeRing(std::chrono::nanoseconds open_duration)
      : switch_(open_duration) {}

  bool Call(bool failed) {
    if (!switch_.Admit()) return false;
    if (!switch_.closed()) {
      switch_.Judge(failed);
      return true;
    }
    const std::uint64_t place = next_.fetch_add(1, std::memory_order_relaxed);
    const int now = failed ? 1 : 0;
    const int before =
        ring_[place % kMinimumCalls].exchange(now, std::memory_order_acq_rel);
    if (now == before) return true;
    const int failures =
        failures_.fetch_add(now - before, std::memory_order_acq_rel) + now -
        before;
    if (failed && place + 1 >= kMinimumCalls &&
        failures >= kThreshold * kMinimumCalls) {
      switch_.Open();
    }
    return true;
  }

 private:
  TripSwitch switch_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<int> failures_{0};
  std::array<std::atomic<std::int8_t>, kMinimumCalls> ring_{};
};

}  // namespace grpc_resilience::bench

// Peer: forty atomic buckets of 250 ms, added up on every admission.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "benchmark/breaker/trip_switch.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class BucketReduce {
 public:
  explicit BucketReduce(std::chrono::nanoseconds open_duration)
      : switch_(open_duration) {}

  bool Call(bool failed) {
    const std::int64_t slot = NowNanoseconds() / kBucketNanoseconds;
    if (switch_.closed() && TooManyFailures(slot)) {
      switch_.Open();
      for (Bucket& bucket : buckets_) bucket.calls = bucket.failures = 0;
    }
    if (!switch_.Admit()) return false;
    if (!switch_.closed()) {
      switch_.Judge(failed);
      return true;
    }
    Count(NowNanoseconds() / kBucketNanoseconds, failed);
    return true;
  }

 private:
  struct Bucket {
    std::atomic<std::int64_t> slot{-1};
    std::atomic<int> calls{0};
    std::atomic<int> failures{0};
  };
  static constexpr int kBuckets = 40;
  static constexpr std::int64_t kBucketNanoseconds = 250'000'000;

  bool TooManyFailures(std::int64_t now) const {
    int calls = 0;
    int failures = 0;
    for (const Bucket& bucket : buckets_) {
      if (now - bucket.slot.load(std::memory_order_relaxed) >= kBuckets) {
        continue;
      }
      calls += bucket.calls.load(std::memory_order_relaxed);
      failures += bucket.failures.load(std::memory_order_relaxed);
    }
    return calls >= kMinimumCalls && failures >= kThreshold * calls;
  }

  void Count(std::int64_t now, bool failed) {
    Bucket& bucket = buckets_[now % kBuckets];
    std::int64_t slot = bucket.slot.load(std::memory_order_relaxed);
    if (slot != now && bucket.slot.compare_exchange_strong(slot, now)) {
      bucket.calls = bucket.failures = 0;
    }
    bucket.calls.fetch_add(1, std::memory_order_relaxed);
    if (failed) bucket.failures.fetch_add(1, std::memory_order_relaxed);
  }

  TripSwitch switch_;
  std::array<Bucket, kBuckets> buckets_;
};

}  // namespace grpc_resilience::bench

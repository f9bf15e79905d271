// Peer: a sliding window of ten seconds behind a mutex, read with the clock on
// every admission and every result: what most people write. With either kind of
// mutex, because the choice doubles the cost of an uncontended call.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "absl/synchronization/mutex.h"
#include "benchmark/breaker/trip_switch.h"

namespace grpc_resilience::bench {

struct StdMutex {
  using Mutex = std::mutex;
  using Lock = std::lock_guard<std::mutex>;
};

struct AbslMutex {
  using Mutex = absl::Mutex;
  class Lock {
   public:
    explicit Lock(Mutex& mu) : lock_(&mu) {}

   private:
    absl::MutexLock lock_;
  };
};

/// This type is safe to use from several threads at once.
template <typename Kind>
class MutexWindow {
 public:
  explicit MutexWindow(std::chrono::nanoseconds open_duration)
      : open_duration_(open_duration.count()) {}

  bool Call(bool failed) {
    if (!Admit()) return false;
    Record(failed);
    return true;
  }

 private:
  enum class State { kClosed, kOpen, kHalfOpen };
  struct Bucket {
    std::int64_t second = -1;
    int calls = 0;
    int failures = 0;
  };
  static constexpr int kSeconds = 10;

  bool Admit() {
    const typename Kind::Lock lock(mu_);
    const std::int64_t now = NowNanoseconds();
    ForgetLocked(now / kSecond);
    if (state_ == State::kClosed) return true;
    if (state_ == State::kHalfOpen || now < open_until_) return false;
    state_ = State::kHalfOpen;
    return true;
  }

  void Record(bool failed) {
    const typename Kind::Lock lock(mu_);
    const std::int64_t now = NowNanoseconds();
    if (state_ == State::kHalfOpen && !failed) {
      state_ = State::kClosed;
      return;
    }
    ForgetLocked(now / kSecond);
    Bucket& bucket = buckets_[now / kSecond % kSeconds];
    ++bucket.calls;
    ++calls_;
    if (!failed) return;
    ++bucket.failures;
    ++failures_;
    if (state_ == State::kHalfOpen ||
        (calls_ >= kMinimumCalls && failures_ >= kThreshold * calls_)) {
      state_ = State::kOpen;
      open_until_ = now + open_duration_;
      buckets_ = {};
      calls_ = failures_ = 0;
    }
  }

  // What is more than ten seconds old no longer counts.
  void ForgetLocked(std::int64_t second) {
    if (second == newest_) return;
    newest_ = second;
    for (Bucket& bucket : buckets_) {
      if (second - bucket.second < kSeconds) continue;
      calls_ -= bucket.calls;
      failures_ -= bucket.failures;
      bucket = Bucket();
    }
    buckets_[second % kSeconds].second = second;
  }

  static constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t open_duration_;
  typename Kind::Mutex mu_;  // guards what follows
  State state_ = State::kClosed;
  std::int64_t open_until_ = 0;
  std::int64_t newest_ = -1;
  std::array<Bucket, kSeconds> buckets_;
  int calls_ = 0;
  int failures_ = 0;
};

}  // namespace grpc_resilience::bench

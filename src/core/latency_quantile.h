// How long a given share of recent attempts took, kept up to date.
//
//   LatencyQuantile p95(0.95, /*minimum=*/100);
//   p95.Record(milliseconds(12));
//   std::optional<Duration> delay = p95.Estimate();
//
// Counts in buckets whose width is 1/32 of their value, over the last one to two
// thousand attempts; the estimate is the upper end of a bucket, so at most 3 % too
// long and never too short.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class LatencyQuantile {
 public:
  /// `quantile` in (0, 1). No estimate before `minimum` attempts were recorded.
  LatencyQuantile(double quantile, int minimum)
      : quantile_(quantile), minimum_(minimum) {}

  /// An attempt took this long; or, cut off, at least this long, which is as good
  /// when it is more than the estimate.
  void Record(Duration latency);

  std::optional<Duration> Estimate() const {
    const Duration estimate = estimate_.load(std::memory_order_relaxed);
    if (estimate == Duration::zero()) return std::nullopt;
    return estimate;
  }

 private:
  static constexpr int kParts = 32;      // of a doubling
  static constexpr int kDoublings = 40;  // of a microsecond: twelve days
  static constexpr std::size_t kBuckets =
      std::size_t{kParts} * (kDoublings + 1);

  static std::size_t BucketOf(Duration latency);
  static Duration UpperEndOf(std::size_t bucket);
  Duration EstimateLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const double quantile_;
  const int minimum_;
  std::atomic<Duration> estimate_{Duration::zero()};
  absl::Mutex mu_;
  /// The attempts of now, and those of the period before.
  std::array<std::uint16_t, kBuckets> now_ ABSL_GUARDED_BY(mu_){};
  std::array<std::uint16_t, kBuckets> before_ ABSL_GUARDED_BY(mu_){};
  int count_ ABSL_GUARDED_BY(mu_) = 0;
  int count_before_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal

#include "core/latency_quantile.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace grpc_resilience::internal {
namespace {

constexpr int kPeriod = 1000;  // attempts
constexpr int kBetweenEstimates = 16;

}  // namespace

std::size_t LatencyQuantile::BucketOf(Duration latency) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(latency).count(),
      0));
  // Below 32 µs a bucket is a microsecond wide.
  if (us < kParts) return static_cast<std::size_t>(us);
  int doublings = 0;
  std::uint64_t part = us;
  while (part >= std::uint64_t{2} * kParts) {
    part /= 2;
    ++doublings;
  }
  return std::min<std::size_t>(
      static_cast<std::size_t>(doublings) * kParts + part, kBuckets - 1);
}

Duration LatencyQuantile::UpperEndOf(std::size_t bucket) {
  if (bucket < kParts) return std::chrono::microseconds(bucket + 1);
  const std::size_t doublings = bucket / kParts - 1;
  const std::uint64_t part = bucket % kParts + kParts;
  return std::chrono::microseconds((part + 1) << doublings);
}

void LatencyQuantile::Record(Duration latency) {
  absl::MutexLock lock(&mu_);
  if (count_ == kPeriod) {
    before_ = now_;
    count_before_ = count_;
    now_.fill(0);
    count_ = 0;
  }
  ++now_[BucketOf(latency)];
  ++count_;
  const int known = count_ + count_before_;
  if (known == minimum_ ||
      (known > minimum_ && count_ % kBetweenEstimates == 0)) {
    estimate_.store(EstimateLocked(), std::memory_order_relaxed);
  }
}

Duration LatencyQuantile::EstimateLocked() const {
  const int known = count_ + count_before_;
  const auto rank =
      static_cast<int>(std::ceil(quantile_ * static_cast<double>(known)));
  int seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += now_[bucket] + before_[bucket];
    if (seen >= rank) return UpperEndOf(bucket);
  }
  return UpperEndOf(kBuckets - 1);
}

}  // namespace grpc_resilience::internal

#include "prometheus/duration_buckets.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grpc_resilience::internal {

std::vector<double> A66DurationBuckets() {
  return {0,     0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002,
          0.003, 0.004,   0.005,   0.006,  0.008,  0.01,   0.013,  0.016, 0.02,
          0.025, 0.03,    0.04,    0.05,   0.065,  0.08,   0.1,    0.13,  0.16,
          0.2,   0.25,    0.3,     0.4,    0.5,    0.65,   0.8,    1,     2,
          5,     10,      20,      50,     100};
}

DurationBuckets::DurationBuckets(std::vector<double> seconds)
    : seconds_(std::move(seconds)) {
  for (const double bound : seconds_) {
    nanoseconds_.push_back(std::llround(bound * 1e9));
  }
}

std::size_t DurationBuckets::IndexOf(Duration duration) const {
  const auto found = std::lower_bound(nanoseconds_.begin(), nanoseconds_.end(),
                                      duration.count());
  return static_cast<std::size_t>(found - nanoseconds_.begin());
}

}  // namespace grpc_resilience::internal

// Which bucket of a histogram a duration belongs to.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// Upper bounds in seconds as of gRFC A66.
std::vector<double> A66DurationBuckets();

/// Immutable, so safe to use from several threads at once.
class DurationBuckets {
 public:
  /// Growing upper bounds in seconds; the last bucket, without a bound, is added.
  explicit DurationBuckets(std::vector<double> seconds);

  const std::vector<double>& seconds() const { return seconds_; }
  /// The one without a bound included.
  std::size_t size() const { return seconds_.size() + 1; }
  /// The first whose bound isn't less.
  std::size_t IndexOf(Duration duration) const;

 private:
  const std::vector<double> seconds_;
  std::vector<std::int64_t> nanoseconds_;
};

}  // namespace grpc_resilience::internal

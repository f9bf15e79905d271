#include "grpc_resilience/clock.h"

#include <ctime>

namespace grpc_resilience {
namespace {

class RealClock : public Clock {
 public:
  TimePoint Now() const override {
    return std::chrono::time_point_cast<Duration>(
        std::chrono::steady_clock::now());
  }
#ifdef CLOCK_MONOTONIC_COARSE
  TimePoint CoarseNow() const override {
    std::timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return TimePoint(std::chrono::seconds(now.tv_sec) +
                     std::chrono::nanoseconds(now.tv_nsec));
  }
#endif
};

}  // namespace

const Clock& Clock::Real() {
  // Never destroyed: calls may still be in flight while the process ends.
  static const Clock* const clock = new RealClock;
  return *clock;
}

TimePoint SaturatingAdd(TimePoint from, Duration length) {
  const Duration since_epoch = from.time_since_epoch();
  if (length > Duration::zero() && since_epoch > Duration::max() - length) {
    return TimePoint::max();
  }
  if (length < Duration::zero() && since_epoch < Duration::min() - length) {
    return TimePoint::min();
  }
  return from + length;
}

}  // namespace grpc_resilience

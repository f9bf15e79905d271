// gRPC's deadlines (wall clock, with an infinity) to and from ours (monotonic,
// with "none" as a value of its own). Converted once per call and attempt.

#pragma once

#include <grpc/support/time.h>

#include "grpc_resilience/deadline.h"

namespace grpc_resilience::internal {

inline bool IsInfinite(gpr_timespec deadline) {
  return gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0;
}

/// `now` is the monotonic time at this moment.
inline Deadline FromGprDeadline(gpr_timespec deadline, TimePoint now) {
  if (IsInfinite(deadline)) return Deadline::None();
  const gpr_timespec left =
      gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (IsInfinite(left)) return Deadline::None();
  const gpr_timespec none = gpr_time_0(GPR_TIMESPAN);
  if (gpr_time_cmp(left, none) <= 0) return Deadline::At(now);
  // Beyond some 292 years a nanosecond count overflows; that is "none" to people.
  if (left.tv_sec >= Duration::max().count() / 1'000'000'000) {
    return Deadline::None();
  }
  return Deadline::After(now, std::chrono::seconds(left.tv_sec) +
                                  std::chrono::nanoseconds(left.tv_nsec));
}

inline gpr_timespec ToGprDeadline(const Deadline& deadline, TimePoint now) {
  const std::optional<Duration> left = deadline.Remaining(now);
  if (!left) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left->count(), GPR_TIMESPAN));
}

}  // namespace grpc_resilience::internal

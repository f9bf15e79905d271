#include "interceptor/wall_deadline.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kNow{hours(100)};

gpr_timespec In(gpr_clock_type clock, Duration time) {
  return gpr_time_add(gpr_now(clock),
                      gpr_time_from_nanos(time.count(), GPR_TIMESPAN));
}

class WallDeadlineTest : public testing::TestWithParam<gpr_clock_type> {};

TEST_P(WallDeadlineTest, KeepsTheTimeLeft) {
  const Deadline deadline = FromGprDeadline(In(GetParam(), seconds(10)), kNow);
  const Duration left = *deadline.Remaining(kNow);
  EXPECT_LE(left, seconds(10));
  EXPECT_GT(left, seconds(9));
}

TEST_P(WallDeadlineTest, InfinityIsNone) {
  EXPECT_TRUE(IsInfinite(gpr_inf_future(GetParam())));
  EXPECT_TRUE(FromGprDeadline(gpr_inf_future(GetParam()), kNow).is_none());
}

// Trap: arithmetic on a far deadline must not wrap into the past.
TEST_P(WallDeadlineTest, AFarDeadlineNeverLiesInThePast) {
  gpr_timespec far = gpr_inf_future(GetParam());
  far.tv_sec -= 1;
  const Deadline deadline = FromGprDeadline(far, kNow);
  EXPECT_FALSE(deadline.Expired(kNow + hours(1000)));
}

TEST_P(WallDeadlineTest, ThePastIsExpired) {
  const Deadline deadline = FromGprDeadline(In(GetParam(), -seconds(5)), kNow);
  EXPECT_TRUE(deadline.Expired(kNow));
  EXPECT_TRUE(FromGprDeadline(gpr_inf_past(GetParam()), kNow).Expired(kNow));
}

INSTANTIATE_TEST_SUITE_P(Clocks, WallDeadlineTest,
                         testing::Values(GPR_CLOCK_REALTIME,
                                         GPR_CLOCK_MONOTONIC));

TEST(ToGprDeadlineTest, NoneIsInfinity) {
  EXPECT_TRUE(IsInfinite(ToGprDeadline(Deadline::None(), kNow)));
}

TEST(ToGprDeadlineTest, KeepsTheTimeLeft) {
  const gpr_timespec deadline =
      ToGprDeadline(Deadline::After(kNow, milliseconds(1500)), kNow);
  const gpr_timespec left =
      gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  EXPECT_LE(gpr_time_to_millis(left), 1500);
  EXPECT_GT(gpr_time_to_millis(left), 1000);
}

}  // namespace
}  // namespace grpc_resilience::internal

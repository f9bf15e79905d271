#include "grpc_resilience/clock.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

struct SaturatingAddCase {
  const char* name;
  TimePoint from;
  Duration length;
  TimePoint sum;
};

constexpr TimePoint kNoon = TimePoint(hours(12));

class SaturatingAddTest : public testing::TestWithParam<SaturatingAddCase> {};

TEST_P(SaturatingAddTest, StaysAtTheEndsOfTheRange) {
  EXPECT_EQ(SaturatingAdd(GetParam().from, GetParam().length), GetParam().sum);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SaturatingAddTest,
    testing::ValuesIn(std::vector<SaturatingAddCase>{
        {"Plain", kNoon, hours(1), TimePoint(hours(13))},
        {"Backwards", kNoon, -hours(1), TimePoint(hours(11))},
        {"Nothing", TimePoint::max(), Duration(0), TimePoint::max()},
        {"JustFits", TimePoint::max() - nanoseconds(1), nanoseconds(1),
         TimePoint::max()},
        {"OneTooMany", TimePoint::max(), nanoseconds(1), TimePoint::max()},
        {"LongestFromNow", kNoon, Duration::max(), TimePoint::max()},
        {"LongestFromTheStart", TimePoint::min(), Duration::max(),
         TimePoint(Duration(-1))},
        {"BelowTheStart", TimePoint::min(), nanoseconds(-1), TimePoint::min()},
        {"ShortestFromNow", -hours(1) + TimePoint(), Duration::min(),
         TimePoint::min()},
        {"ShortestFromZero", TimePoint(), Duration::min(), TimePoint::min()},
    }),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(RealClockTest, NeverGoesBackwards) {
  TimePoint last = Clock::Real().Now();
  for (int i = 0; i < 10000; ++i) {
    const TimePoint now = Clock::Real().Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, IsOneObject) { EXPECT_EQ(&Clock::Real(), &Clock::Real()); }

TEST(RealClockTest, TheCoarseTimeIsALittleBehindAndNeverAhead) {
  const Clock& clock = Clock::Real();
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint before = clock.Now();
    const TimePoint coarse = clock.CoarseNow();
    const TimePoint after = clock.Now();
    ASSERT_LE(coarse, after);
    ASSERT_GT(coarse, before - Clock::kCoarseness);
  }
}

}  // namespace
}  // namespace grpc_resilience

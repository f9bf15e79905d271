#include "core/half_open_round.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;

constexpr TimePoint At(int second) { return TimePoint(seconds(second)); }

TEST(HalfOpenRoundTest, EachProbeFinishesOnce) {
  HalfOpenRound round;
  const std::uint64_t a = round.Admit(At(0));
  const std::uint64_t b = round.Admit(At(0));
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_TRUE(round.Finish(b));
  EXPECT_FALSE(round.Finish(b));
  EXPECT_EQ(round.in_flight(), 1);
  EXPECT_TRUE(round.Finish(a));
  EXPECT_EQ(round.in_flight(), 0);
}

TEST(HalfOpenRoundTest, ProbesOfTheRoundBeforeAreUnknown) {
  HalfOpenRound round;
  const std::uint64_t old = round.Admit(At(0));
  round.AddSuccess();
  round.Start();
  EXPECT_EQ(round.succeeded(), 0);
  EXPECT_EQ(round.in_flight(), 0);
  EXPECT_NE(round.Admit(At(0)), old);
  EXPECT_FALSE(round.Finish(old));
  EXPECT_EQ(round.in_flight(), 1);
}

TEST(HalfOpenRoundTest, DropsOnlyProbesThatWaitedLongEnough) {
  HalfOpenRound round;
  const std::uint64_t first = round.Admit(At(0));
  const std::uint64_t second = round.Admit(At(5));
  EXPECT_EQ(round.InFlightAfterDrop(At(9), seconds(10)), 2);
  EXPECT_EQ(round.InFlightAfterDrop(At(10), seconds(10)), 1);
  EXPECT_EQ(round.in_flight(), 2);  // that only looked
  round.DropLost(At(10), seconds(10));
  EXPECT_FALSE(round.Finish(first));
  EXPECT_TRUE(round.Finish(second));
}

TEST(HalfOpenRoundTest, AnEndlessWaitDoesNotOverflow) {
  HalfOpenRound round;
  round.Admit(At(1));
  round.DropLost(At(1'000'000), Duration::max());
  EXPECT_EQ(round.in_flight(), 1);
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "grpc_resilience/deadline.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const TimePoint kNow{hours(1)};

TEST(DeadlineTest, NoneNeverExpiresAndHasNoTimeLeftToTell) {
  const Deadline none = Deadline::None();
  EXPECT_TRUE(none.is_none());
  EXPECT_FALSE(none.Expired(TimePoint::max()));
  EXPECT_EQ(none.Remaining(kNow), std::nullopt);
  EXPECT_EQ(none.when(), std::nullopt);
  EXPECT_TRUE(none.Fits(TimePoint::max(), Duration::max()));
}

TEST(DeadlineTest, ExpiresAtTheMomentItself) {
  const Deadline deadline = Deadline::After(kNow, milliseconds(10));
  EXPECT_FALSE(deadline.Expired(kNow + milliseconds(10) - Duration(1)));
  EXPECT_TRUE(deadline.Expired(kNow + milliseconds(10)));
}

TEST(DeadlineTest, RemainingIsNeverNegative) {
  const Deadline deadline = Deadline::After(kNow, milliseconds(10));
  EXPECT_EQ(deadline.Remaining(kNow), milliseconds(10));
  EXPECT_EQ(deadline.Remaining(kNow + milliseconds(10)), Duration::zero());
  EXPECT_EQ(deadline.Remaining(kNow + hours(1)), Duration::zero());
}

TEST(DeadlineTest, FitsWhatEndsAtTheDeadlineButNotWhatEndsLater) {
  const Deadline deadline = Deadline::After(kNow, milliseconds(10));
  EXPECT_TRUE(deadline.Fits(kNow, milliseconds(10)));
  EXPECT_FALSE(deadline.Fits(kNow, milliseconds(10) + Duration(1)));
  EXPECT_FALSE(deadline.Fits(kNow, Duration::max()));
  EXPECT_FALSE(deadline.Fits(kNow + hours(1), Duration::zero()));
}

// Arithmetic at the ends of the range stays there instead of wrapping.
TEST(DeadlineTest, AfterSaturates) {
  const Deadline far = Deadline::After(kNow, Duration::max());
  EXPECT_EQ(far.when(), TimePoint::max());
  EXPECT_FALSE(far.Expired(kNow + hours(1000)));
}

TEST(EarlierTest, NoneComesAfterEveryOther) {
  const Deadline soon = Deadline::After(kNow, milliseconds(1));
  const Deadline late = Deadline::After(kNow, milliseconds(2));
  EXPECT_EQ(Earlier(soon, late), soon);
  EXPECT_EQ(Earlier(late, soon), soon);
  EXPECT_EQ(Earlier(Deadline::None(), late), late);
  EXPECT_EQ(Earlier(late, Deadline::None()), late);
  EXPECT_TRUE(Earlier(Deadline::None(), Deadline::None()).is_none());
}

}  // namespace
}  // namespace grpc_resilience

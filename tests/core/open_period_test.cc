#include "core/open_period.h"

#include <gtest/gtest.h>

#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OpenPeriodTest : public testing::Test {
 protected:
  /// 10 s, then 20 s, then 30 s.
  OpenPeriodTest() {
    lengths_.initial_backoff = seconds(10);
    lengths_.backoff_multiplier = 2;
    lengths_.max_backoff = seconds(30);
    lengths_.jitter = Jitter::kNone;
  }

  void Start(TimePoint when, int early_after_rejections) {
    period_.Configure(lengths_, std::nullopt, early_after_rejections);
    period_.Start(when);
  }
  void Reject(int calls) { line_.rejected.fetch_add(calls); }
  bool ReadyAfter(Duration passed) const {
    return ProbeReady(line_, start_ + passed);
  }

  const TimePoint start_ = TimePoint(std::chrono::hours(1));
  OpenLine line_;
  BackoffPolicy lengths_;
  FixedRandom random_{0.5};
  OpenPeriod period_{line_, random_};
};

TEST_F(OpenPeriodTest, ReadyWhenItsTimeIsOver) {
  Start(start_, 0);
  EXPECT_FALSE(ReadyAfter(seconds(10) - Duration(1)));
  EXPECT_TRUE(ReadyAfter(seconds(10)));
  EXPECT_EQ(TimeUntilProbe(line_, start_ + seconds(4)), seconds(6));
  EXPECT_EQ(TimeUntilProbe(line_, start_ + seconds(11)), Duration::zero());
  EXPECT_EQ(period_.Why(start_ + seconds(10)), "10 s passed");
}

TEST_F(OpenPeriodTest, GrowsUntilItIsRestarted) {
  for (const seconds length :
       {seconds(10), seconds(20), seconds(30), seconds(30)}) {
    Start(start_, 0);
    EXPECT_EQ(TimeUntilProbe(line_, start_), length);
  }
  period_.Restart();
  Start(start_, 0);
  EXPECT_EQ(TimeUntilProbe(line_, start_), seconds(10));
}

TEST_F(OpenPeriodTest, NewLengthsCountFromTheNextPeriodOn) {
  Start(start_, 0);
  lengths_.initial_backoff = seconds(1);
  EXPECT_EQ(TimeUntilProbe(line_, start_), seconds(10));
  Start(start_, 0);
  EXPECT_EQ(TimeUntilProbe(line_, start_), seconds(2));
}

TEST_F(OpenPeriodTest, EarlyAfterEnoughRejectionsAndEightyMilliseconds) {
  Reject(1000);  // in earlier periods
  Start(start_, 100);
  Reject(99);
  EXPECT_FALSE(ReadyAfter(milliseconds(80)));
  Reject(1);
  EXPECT_FALSE(ReadyAfter(milliseconds(80) - Duration(1)));
  EXPECT_TRUE(ReadyAfter(milliseconds(80)));
  EXPECT_EQ(TimeUntilProbe(line_, start_ + milliseconds(80)), Duration::zero());
  Reject(7);
  EXPECT_EQ(period_.Why(start_ + milliseconds(80)), "107 calls rejected");
  EXPECT_EQ(period_.Why(start_ + seconds(10)), "10 s passed");
}

TEST_F(OpenPeriodTest, NeverEarlyWhenSwitchedOff) {
  Start(start_, 0);
  Reject(1'000'000);
  EXPECT_FALSE(ReadyAfter(seconds(9)));
}

TEST_F(OpenPeriodTest, NeverEarlyBeforeAHoldIsOver) {
  Start(start_, 100);
  period_.HoldUntil(start_, start_ + seconds(3));  // of the 10 s
  Reject(1000);
  EXPECT_FALSE(ReadyAfter(seconds(3) - Duration(1)));
  EXPECT_TRUE(ReadyAfter(seconds(3)));
}

TEST_F(OpenPeriodTest, TheLongestHoldCounts) {
  Start(start_, 0);
  period_.HoldUntil(start_, start_ + seconds(3));
  period_.HoldUntil(start_, start_ + seconds(1));
  period_.MakeReady();
  EXPECT_FALSE(ReadyAfter(seconds(3) - Duration(1)));
  EXPECT_TRUE(ReadyAfter(seconds(3)));
}

TEST_F(OpenPeriodTest, LongestPeriodStaysInTheRangeOfTime) {
  lengths_.initial_backoff = lengths_.max_backoff = Duration::max();
  Start(start_, 0);
  EXPECT_FALSE(ReadyAfter(std::chrono::hours(24 * 365)));
  EXPECT_EQ(line_.probe_at.load(), TimePoint::max());
}

}  // namespace
}  // namespace grpc_resilience::internal

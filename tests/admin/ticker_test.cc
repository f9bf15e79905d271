// When a tick comes. In real time, because gRPC's alarms know no other: only what
// must come is waited for.

#include "admin/ticker.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

class TickerTest : public testing::Test {
 protected:
  void TearDown() override { ticker_->Stop(); }

  void Make(Ticker::Pace pace, int wanted) {
    ticker_ = Ticker::Make(pace, [this, wanted] {
      absl::MutexLock lock(&mu_);
      ticks_.push_back(std::chrono::steady_clock::now());
      return static_cast<int>(ticks_.size()) < wanted;
    });
  }
  /// Waits for so many.
  std::vector<Time> Ticks(std::size_t count) {
    const auto there = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return ticks_.size() >= count;
    };
    absl::MutexLock lock(&mu_);
    EXPECT_TRUE(
        mu_.AwaitWithTimeout(absl::Condition(&there), absl::Minutes(1)));
    return ticks_;
  }

  absl::Mutex mu_;
  std::vector<Time> ticks_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Ticker> ticker_;
};

TEST_F(TickerTest, GoesOnAsLongAsMoreAreWanted) {
  Make({milliseconds(5), milliseconds(1)}, 3);
  ticker_->Soon();
  const std::vector<Time> ticks = Ticks(3);
  EXPECT_GE(ticks[1] - ticks[0], milliseconds(5));
  EXPECT_GE(ticks[2] - ticks[1], milliseconds(5));
}

TEST_F(TickerTest, SoonDoesNotWaitForThePeriodButForTheGap) {
  Make({hours(1), milliseconds(30)}, 100);
  ticker_->Soon();
  Ticks(1);
  ticker_->Soon();
  const std::vector<Time> ticks = Ticks(2);
  EXPECT_GE(ticks[1] - ticks[0], milliseconds(30));
}

TEST_F(TickerTest, NoneBeginsAfterStop) {
  Make({milliseconds(1), milliseconds(1)}, 1'000'000);
  ticker_->Soon();
  Ticks(3);
  ticker_->Stop();
  ticker_->Soon();
  // One may be under way; two more can't be.
  const auto two_more = [this, count = Ticks(0).size()]()
                            ABSL_SHARED_LOCKS_REQUIRED(mu_) {
                              return ticks_.size() >= count + 2;
                            };
  absl::MutexLock lock(&mu_);
  EXPECT_FALSE(
      mu_.AwaitWithTimeout(absl::Condition(&two_more), absl::Milliseconds(50)));
}

}  // namespace
}  // namespace grpc_resilience::internal

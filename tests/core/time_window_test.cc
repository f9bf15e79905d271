#include "core/time_window.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <random>

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint At(Duration since_start) {
  return TimePoint(hours(1)) + since_start;
}

// D21
TEST(TimeWindowTest, WhatIsOlderThanTheWindowIsGone) {
  TimeWindow window(seconds(10), 10);
  for (int i = 0; i < 9; ++i) window.Add(At(seconds(0)), true);
  EXPECT_EQ(window.TotalsAt(At(seconds(9))).failures, 9);
  window.Add(At(seconds(11)), true);
  EXPECT_EQ(window.TotalsAt(At(seconds(11))).calls, 1);
  EXPECT_EQ(window.TotalsAt(At(seconds(11))).failures, 1);
}

// D21
TEST(TimeWindowTest, APauseOfAnyLengthLeavesZeros) {
  TimeWindow window(seconds(10), 10);
  window.Add(At(seconds(0)), true, true);
  for (const Duration pause :
       {Duration(seconds(10'000)), Duration(hours(24 * 365 * 100))}) {
    const WindowTotals totals = window.TotalsAt(At(pause));
    EXPECT_EQ(totals.calls, 0);
    EXPECT_EQ(totals.failures, 0);
    EXPECT_EQ(totals.slow, 0);
    EXPECT_EQ(totals.failure_rate(), 0.0);  // not NaN
  }
  window.Add(At(hours(24 * 365 * 100)), false);
  EXPECT_EQ(window.TotalsAt(At(hours(24 * 365 * 100))).calls, 1);
}

TEST(TimeWindowTest, LookingChangesNothing) {
  TimeWindow window(seconds(10), 10);
  window.Add(At(seconds(0)), true);
  EXPECT_EQ(window.TotalsAt(At(seconds(100))).calls, 0);
  EXPECT_EQ(window.TotalsAt(At(seconds(5))).calls, 1);
}

TEST(TimeWindowTest, ItMovesOnByOneBucket) {
  TimeWindow window(seconds(10), 10);
  for (int second = 0; second < 10; ++second) {
    window.Add(At(seconds(second)), second % 2 == 0);
  }
  // Seconds 0…9, then one less for each that passes.
  EXPECT_EQ(window.TotalsAt(At(milliseconds(9999))).calls, 10);
  EXPECT_EQ(window.TotalsAt(At(seconds(10))).calls, 9);
  EXPECT_EQ(window.TotalsAt(At(seconds(10))).failures, 4);
  EXPECT_EQ(window.TotalsAt(At(seconds(15))).calls, 4);
  EXPECT_EQ(window.TotalsAt(At(seconds(18))).calls, 1);
  EXPECT_EQ(window.TotalsAt(At(seconds(19))).calls, 0);
}

TEST(TimeWindowTest, ALateClockReadingCountsInTheNewestBucket) {
  TimeWindow window(seconds(10), 10);
  window.Add(At(seconds(5)), false);
  window.Add(At(seconds(3)), true);  // a thread that read the clock before
  EXPECT_EQ(window.TotalsAt(At(seconds(5))).calls, 2);
  EXPECT_EQ(window.TotalsAt(At(seconds(14))).calls, 2);
  EXPECT_EQ(window.TotalsAt(At(seconds(15))).calls, 0);
}

TEST(TimeWindowTest, TimesBeforeTheEpochWork) {
  TimeWindow window(seconds(10), 10);
  // Never earlier than what it has seen; it begins at the epoch.
  window.Add(TimePoint(seconds(-5)), true);
  EXPECT_EQ(window.TotalsAt(TimePoint(seconds(0))).failures, 1);
}

TEST(TimeWindowTest, AnOutcomeBecomesAFailureWhileItsBucketIsThere) {
  TimeWindow window(seconds(10), 10);
  const auto ticket = window.Add(At(seconds(0)), false, true);
  window.Add(At(seconds(1)), false);
  window.MarkFailed(At(seconds(2)), ticket);
  EXPECT_EQ(window.TotalsAt(At(seconds(2))).failures, 1);
  EXPECT_EQ(window.TotalsAt(At(seconds(2))).calls, 2);
  EXPECT_EQ(window.TotalsAt(At(seconds(10))).failures, 0);  // bucket 0 left
  window.MarkFailed(At(seconds(10)), ticket);
  EXPECT_EQ(window.TotalsAt(At(seconds(10))).failures, 0);
}

TEST(TimeWindowTest, ATicketOfAClearedWindowMarksNothing) {
  TimeWindow window(seconds(10), 10);
  const auto ticket = window.Add(At(seconds(0)), false);
  window.Clear();
  window.MarkFailed(At(seconds(0)), ticket);
  EXPECT_EQ(window.TotalsAt(At(seconds(0))).failures, 0);
}

TEST(TimeWindowTest, WithoutBucketsItHoldsNothing) {
  TimeWindow window(Duration::zero(), 0);
  const auto ticket = window.Add(At(seconds(0)), true);
  EXPECT_NE(ticket, 0u);
  window.MarkFailed(At(seconds(0)), ticket);
  EXPECT_EQ(window.TotalsAt(At(seconds(0))).calls, 0);
}

TEST(TimeWindowTest, AgreesWithAListOfAllOutcomes) {
  std::mt19937 random(7);
  TimeWindow window(milliseconds(700), 7);
  struct Entry {
    std::int64_t period;
    bool failed;
  };
  std::deque<Entry> all;
  Duration now{0};
  for (int step = 0; step < 20'000; ++step) {
    now += milliseconds(random() % 3 == 0 ? random() % 300 : random() % 5);
    const std::int64_t period = At(now).time_since_epoch() / milliseconds(100);
    const bool failed = random() % 3 == 0;
    window.Add(At(now), failed);
    all.push_back({period, failed});
    while (all.front().period <= period - 7) all.pop_front();
    std::int64_t failures = 0;
    for (const Entry& entry : all) failures += entry.failed ? 1 : 0;
    const WindowTotals totals = window.TotalsAt(At(now));
    ASSERT_EQ(totals.calls, static_cast<std::int64_t>(all.size())) << step;
    ASSERT_EQ(totals.failures, failures) << step;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

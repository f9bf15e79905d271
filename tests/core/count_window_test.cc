#include "core/count_window.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace grpc_resilience::internal {
namespace {

CountWindow WindowOf(int size, const std::deque<bool>& outcomes) {
  CountWindow window(size);
  for (bool failed : outcomes) window.Add(failed);
  return window;
}

// D18
TEST(CountWindowTest, EmptyWindowHasRateZero) {
  EXPECT_EQ(CountWindow(5).failure_rate(), 0.0);
  EXPECT_EQ(CountWindow(0).failure_rate(), 0.0);
}

TEST(CountWindowTest, CountsUpToItsSize) {
  CountWindow window(2);
  window.Add(true);  // F
  EXPECT_EQ(window.count(), 1);
  EXPECT_EQ(window.failures(), 1);
  window.Add(false);  // F S
  EXPECT_EQ(window.failure_rate(), 0.5);
  window.Add(false);  // S S
  EXPECT_EQ(window.count(), 2);
  EXPECT_EQ(window.failures(), 0);
}

TEST(CountWindowTest, ClearedWindowDoesNotRemember) {
  CountWindow window = WindowOf(2, {true, true});
  window.Clear();
  EXPECT_EQ(window.count(), 0);
  window.Add(false);
  window.Add(false);
  window.Add(false);
  EXPECT_EQ(window.failures(), 0);
}

TEST(CountWindowTest, ResizeKeepsTheNewest) {
  CountWindow window = WindowOf(4, {true, true, false, true, false});
  window.Resize(2);  // F S
  EXPECT_EQ(window.count(), 2);
  EXPECT_EQ(window.failures(), 1);
  window.Add(false);  // S S
  EXPECT_EQ(window.failures(), 0);
}

TEST(CountWindowTest, GrownWindowKeepsAll) {
  CountWindow window = WindowOf(2, {false, true});
  window.Resize(3);
  EXPECT_EQ(window.count(), 2);
  window.Add(true);  // S F F
  EXPECT_EQ(window.failures(), 2);
  window.Add(true);  // F F F
  EXPECT_EQ(window.failures(), 3);
}

TEST(CountWindowTest, WindowOfNothingTakesNothing) {
  CountWindow window = WindowOf(3, {true, true});
  window.Resize(0);
  window.Add(true);
  EXPECT_EQ(window.count(), 0);
  EXPECT_EQ(window.failures(), 0);
}

TEST(CountWindowTest, AgreesWithAPlainQueue) {
  std::mt19937 random(7);
  CountWindow window(13);
  std::deque<bool> model;
  std::size_t size = 13;
  for (int step = 0; step < 20'000; ++step) {
    if (step % 97 == 0) {
      size = random() % 30 + 1;
      window.Resize(static_cast<int>(size));
    } else {
      const bool failed = random() % 3 == 0;
      window.Add(failed);
      model.push_back(failed);
    }
    while (model.size() > size) model.pop_front();
    ASSERT_EQ(window.count(), static_cast<int>(model.size()));
    ASSERT_EQ(window.failures(), std::count(model.begin(), model.end(), true));
  }
}

TEST(CountWindowTest, SlowIsCountedBesideFailed) {
  CountWindow window(3);
  window.Add(true, true);
  window.Add(false, true);
  window.Add(true, false);
  EXPECT_EQ(window.totals().failures, 2);
  EXPECT_EQ(window.totals().slow, 2);
  window.Add(false, false);  // the first makes room
  EXPECT_EQ(window.totals().calls, 3);
  EXPECT_EQ(window.totals().failures, 1);
  EXPECT_EQ(window.totals().slow, 1);
  EXPECT_DOUBLE_EQ(window.totals().slow_rate(), 1.0 / 3);
}

TEST(CountWindowTest, AnOutcomeBecomesAFailureOnceWhileItIsInTheWindow) {
  CountWindow window(2);
  const auto ticket = window.Add(false, true);
  window.Add(false);
  window.MarkFailed(ticket);
  window.MarkFailed(ticket);
  EXPECT_EQ(window.failures(), 1);
  EXPECT_EQ(window.count(), 2);
  window.Add(false);  // the ticket's outcome leaves
  EXPECT_EQ(window.failures(), 0);
  window.MarkFailed(ticket);
  EXPECT_EQ(window.failures(), 0);
}

TEST(CountWindowTest, TicketsOfBeforeAreVoidAfterResizeAndClear) {
  CountWindow window(4);
  const auto ticket = window.Add(false);
  window.Resize(2);
  window.MarkFailed(ticket);
  EXPECT_EQ(window.failures(), 0);
  const auto cleared = window.Add(false);
  window.Clear();
  window.MarkFailed(cleared);
  EXPECT_EQ(window.failures(), 0);
}

}  // namespace
}  // namespace grpc_resilience::internal

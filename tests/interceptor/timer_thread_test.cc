#include "interceptor/timer_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Timers are never destroyed once they run.
TimerThread& NewTimer() { return *new TimerThread; }

TimePoint In(Duration time) { return Clock::Real().Now() + time; }

TEST(TimerThreadTest, RunsAnEntryNotBeforeItsTime) {
  TimerThread& timer = NewTimer();
  absl::Notification done;
  const TimePoint when = In(milliseconds(20));
  TimePoint ran;
  timer.Schedule(
      when,
      [&] {
        ran = Clock::Real().Now();
        done.Notify();
      },
      nullptr);
  done.WaitForNotification();
  EXPECT_GE(ran, when);
}

// As when the system has no thread to give.
TEST(TimerThreadTest, WithoutAThreadGrpcRunsTheEntries) {
  TimerThread& timer =
      *new TimerThread([](std::function<void()>) { return false; });
  absl::Notification done, expired;
  const TimePoint when = In(milliseconds(20));
  TimePoint ran;
  timer.Schedule(
      when,
      [&] {
        ran = Clock::Real().Now();
        done.Notify();
      },
      nullptr);
  const Timer::Id cancelled = timer.Schedule(
      In(milliseconds(5)), [] { ADD_FAILURE(); }, nullptr);
  EXPECT_TRUE(timer.Cancel(cancelled));
  done.WaitForNotification();
  EXPECT_GE(ran, when);
  timer.Schedule(
      In(hours(1)), [&] { expired.Notify(); }, &timer);
  EXPECT_EQ(timer.ExpireAll(&timer), 1u);
  expired.WaitForNotification();
  EXPECT_EQ(timer.pending(), 0u);
}

TEST(TimerThreadTest, RunsDueEntriesInTheOrderOfTheirTimesThenOfScheduling) {
  TimerThread& timer = NewTimer();
  std::vector<int> order;
  absl::Notification blocked, go, done;
  timer.Schedule(
      TimePoint::min(),
      [&] {
        blocked.Notify();
        go.WaitForNotification();
      },
      nullptr);
  blocked.WaitForNotification();
  const TimePoint now = Clock::Real().Now();
  timer.Schedule(
      now, [&] { order.push_back(2); }, nullptr);
  timer.Schedule(
      now, [&] { order.push_back(3); }, nullptr);
  timer.Schedule(
      TimePoint::min(), [&] { order.push_back(1); }, nullptr);
  timer.Schedule(
      In(milliseconds(1)), [&] { done.Notify(); }, nullptr);
  go.Notify();
  done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// A28: 100,000 cancelled entries with a far deadline leave nothing behind.
TEST(TimerThreadTest, CancelFreesTheEntryAtOnce) {
  TimerThread& timer = NewTimer();
  auto held = std::make_shared<int>(1);
  std::vector<Timer::Id> ids;
  for (int i = 0; i < 100000; ++i) {
    ids.push_back(timer.Schedule(
        In(hours(1)), [held] {}, nullptr));
  }
  EXPECT_EQ(timer.pending(), 100000u);
  for (const Timer::Id id : ids) EXPECT_TRUE(timer.Cancel(id));
  EXPECT_EQ(timer.pending(), 0u);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TimerThreadTest, CancelSaysNoToWhatRunsHasRunOrNeverWas) {
  TimerThread& timer = NewTimer();
  absl::Notification running, go, done;
  const Timer::Id id = timer.Schedule(
      TimePoint::min(),
      [&] {
        running.Notify();
        go.WaitForNotification();
        done.Notify();
      },
      nullptr);
  running.WaitForNotification();
  EXPECT_FALSE(timer.Cancel(id)) << "running";
  go.Notify();
  done.WaitForNotification();
  EXPECT_FALSE(timer.Cancel(id)) << "has run";
  EXPECT_FALSE(timer.Cancel(id + 1000)) << "never was";
}

TEST(TimerThreadTest, ExpireAllMakesOneOwnersEntriesDue) {
  TimerThread& timer = NewTimer();
  int mine = 0, theirs = 0;
  absl::BlockingCounter ran(3);
  for (int i = 0; i < 3; ++i) {
    timer.Schedule(
        In(hours(1)), [&] { ran.DecrementCount(); }, &mine);
  }
  const Timer::Id other = timer.Schedule(
      In(hours(1)), [] {}, &theirs);
  EXPECT_EQ(timer.ExpireAll(&mine), 3u);
  ran.Wait();
  EXPECT_EQ(timer.pending(), 1u);
  EXPECT_TRUE(timer.Cancel(other));
  EXPECT_EQ(timer.ExpireAll(&mine), 0u);
}

TEST(TimerThreadTest, AnEntryThatThrowsDoesNotStopTheOthers) {
  TimerThread& timer = NewTimer();
  absl::Notification done;
  timer.Schedule(
      TimePoint::min(), [] { throw std::runtime_error("no"); }, nullptr);
  timer.Schedule(
      TimePoint::min(), [&] { done.Notify(); }, nullptr);
  done.WaitForNotification();
  EXPECT_EQ(timer.pending(), 0u);
}

TEST(TimerThreadTest, AnEarlierEntryOvertakesTheOneThatIsWaitedFor) {
  TimerThread& timer = NewTimer();
  absl::Notification done;
  const Timer::Id late = timer.Schedule(
      In(hours(1)), [] {}, nullptr);
  timer.Schedule(
      In(milliseconds(1)), [&] { done.Notify(); }, nullptr);
  done.WaitForNotification();
  EXPECT_TRUE(timer.Cancel(late));
}

}  // namespace
}  // namespace grpc_resilience::internal

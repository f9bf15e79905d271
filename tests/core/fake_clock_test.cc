#include "grpc_resilience/testing/fake_clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(FakeClockTest, StandsStillUntilAdvanced) {
  FakeClock clock(TimePoint(seconds(5)));
  EXPECT_EQ(clock.Now(), TimePoint(seconds(5)));
  EXPECT_EQ(clock.Advance(seconds(2)), 0u);
  EXPECT_EQ(clock.Now(), TimePoint(seconds(7)));
  EXPECT_EQ(clock.Advance(seconds(-2)), 0u);
  EXPECT_EQ(clock.Now(), TimePoint(seconds(7)));
  EXPECT_EQ(clock.Advance(Duration::max()), 0u);
  EXPECT_EQ(clock.Now(), TimePoint::max());
}

TEST(FakeClockTest, RunsDueEntriesInOrderEachAtItsOwnTime) {
  FakeClock clock;
  const TimePoint start = clock.Now();
  std::vector<std::string> log;
  const auto note = [&](std::string name) {
    return [&log, &clock, start, name] {
      log.push_back(name + std::to_string((clock.Now() - start) / seconds(1)));
    };
  };
  clock.Schedule(start + seconds(3), note("c"), nullptr);
  clock.Schedule(start + seconds(1), note("a"), nullptr);
  clock.Schedule(start + seconds(1), note("b"), nullptr);
  clock.Schedule(start + seconds(4), note("d"), nullptr);
  EXPECT_EQ(clock.pending(), 4u);

  EXPECT_EQ(clock.Advance(seconds(3)), 3u);

  EXPECT_EQ(log, (std::vector<std::string>{"a1", "b1", "c3"}));
  EXPECT_EQ(clock.pending(), 1u);
  EXPECT_EQ(clock.Now(), start + seconds(3));
}

TEST(FakeClockTest, EntriesScheduledMeanwhileRunInTheSameAdvance) {
  FakeClock clock;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    clock.Schedule(clock.Now() + seconds(1), again, nullptr);
  };
  again();
  EXPECT_EQ(clock.Advance(seconds(5)), 5u);
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(clock.pending(), 1u);  // due in second 6
}

TEST(FakeClockTest, ScheduleNeverRunsInsideTheCall) {
  FakeClock clock;
  int runs = 0;
  clock.Schedule(
      TimePoint::min(), [&] { ++runs; }, nullptr);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(clock.Advance(seconds(0)), 1u);
  EXPECT_EQ(runs, 1);
}

TEST(FakeClockTest, EntriesMayUseTheClockTheyRunOn) {
  FakeClock clock;
  bool cancelled = false;
  const Timer::Id second = clock.Schedule(
      clock.Now() + seconds(2), [] { FAIL(); }, nullptr);
  clock.Schedule(
      clock.Now() + seconds(1),
      [&] {
        cancelled = clock.Cancel(second);
        clock.Advance(seconds(10));
      },
      nullptr);
  const TimePoint start = clock.Now();
  EXPECT_EQ(clock.Advance(seconds(5)), 1u);
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(clock.Now(), start + seconds(11));  // never backwards
}

TEST(FakeClockTest, CancelledEntriesNeverRunAndAreFreedAtOnce) {
  FakeClock clock;
  auto owned = std::make_shared<int>(1);
  const Timer::Id id = clock.Schedule(
      clock.Now() + seconds(1), [owned] { FAIL(); }, nullptr);
  EXPECT_EQ(owned.use_count(), 2);
  EXPECT_TRUE(clock.Cancel(id));
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_FALSE(clock.Cancel(id));
  EXPECT_EQ(clock.Advance(seconds(2)), 0u);
}

TEST(FakeClockTest, CancelSaysNoOnceAnEntryRan) {
  FakeClock clock;
  const Timer::Id id = clock.Schedule(
      clock.Now(), [] {}, nullptr);
  EXPECT_EQ(clock.Advance(seconds(0)), 1u);
  EXPECT_FALSE(clock.Cancel(id));
}

TEST(FakeClockTest, ExpireAllMakesOneOwnersEntriesDue) {
  FakeClock clock;
  const TimePoint start = clock.Now();
  const int mine = 0;
  const int theirs = 0;
  std::vector<TimePoint> ran;
  const auto note = [&] { ran.push_back(clock.Now()); };
  clock.Schedule(start + hours(1), note, &mine);
  const Timer::Id second = clock.Schedule(start + hours(2), note, &mine);
  clock.Schedule(start + hours(1), note, &theirs);
  clock.Schedule(start + hours(1), note, nullptr);

  EXPECT_EQ(clock.ExpireAll(nullptr), 0u);
  EXPECT_EQ(clock.ExpireAll(&mine), 2u);
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(clock.Cancel(second));

  EXPECT_EQ(clock.Advance(seconds(0)), 1u);
  EXPECT_EQ(ran, (std::vector<TimePoint>{start}));
  EXPECT_EQ(clock.pending(), 2u);
}

// A28
TEST(FakeClockTest, CancelledEntriesLeaveTheQueueWithoutWaiting) {
  FakeClock clock;
  for (int i = 0; i < 100000; ++i) {
    const Timer::Id id = clock.Schedule(
        clock.Now() + seconds(60), [] {}, nullptr);
    ASSERT_TRUE(clock.Cancel(id));
  }
  EXPECT_EQ(clock.pending(), 0u);
}

TEST(FakeClockTest, EachEntryRunsOnceWhenSeveralThreadsAdvance) {
  FakeClock clock;
  constexpr int kEntries = 2000;
  std::vector<int> runs(kEntries, 0);
  for (int i = 0; i < kEntries; ++i) {
    clock.Schedule(
        clock.Now() + seconds(i), [&runs, i] { ++runs[i]; }, nullptr);
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEntries; ++i) clock.Advance(seconds(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, std::vector<int>(kEntries, 1));
  EXPECT_EQ(clock.pending(), 0u);
}

}  // namespace
}  // namespace grpc_resilience

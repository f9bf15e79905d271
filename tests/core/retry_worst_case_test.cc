#include "grpc_resilience/retry_worst_case.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "core/session_driver.h"
#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

RetryPolicy Policy(int per_attempt_ms, int initial_ms, double multiplier,
                   int max_ms, int max_attempts) {
  RetryPolicy retry;
  retry.max_attempts = max_attempts;
  retry.per_attempt_timeout = milliseconds(per_attempt_ms);
  retry.backoff.initial_backoff = milliseconds(initial_ms);
  retry.backoff.backoff_multiplier = multiplier;
  retry.backoff.max_backoff = milliseconds(max_ms);
  return retry;
}

// --- Tables
// ---------------------------------------------------------------------

struct BudgetRow {
  int per_attempt_ms;
  int initial_ms;
  double multiplier;
  int max_ms;
  int max_attempts;
  int worst_case_ms;
  bool fits_10s;
};

constexpr BudgetRow kBudgetTable[] = {
    {2000, 100, 2, 2000, 2, 4100, true},
    {2000, 100, 2, 2000, 3, 6300, true},
    {2000, 100, 2, 2000, 4, 8700, true},
    {2000, 100, 2, 2000, 5, 11500, false},
    {2000, 200, 2, 2000, 2, 4200, true},
    {2000, 200, 2, 2000, 3, 6600, true},
    {2000, 200, 2, 2000, 4, 9400, true},
    {2000, 200, 2, 2000, 5, 13000, false},
    {2000, 500, 2, 2000, 2, 4500, true},
    {2000, 500, 2, 2000, 3, 7500, true},
    {2000, 500, 2, 2000, 4, 11500, false},
    {2000, 500, 2, 2000, 5, 15500, false},
    {2000, 1000, 2, 4000, 2, 5000, true},
    {2000, 1000, 2, 4000, 3, 9000, true},
    {2000, 1000, 2, 4000, 4, 15000, false},
    {2000, 1000, 2, 4000, 5, 21000, false},
    {2000, 500, 3, 5000, 2, 4500, true},
    {2000, 500, 3, 5000, 3, 8000, true},
    {2000, 500, 3, 5000, 4, 14500, false},
    {2000, 500, 3, 5000, 5, 21500, false},
};

TEST(RetryWorstCaseTest, TimesOfTheBudgetTable) {
  for (const BudgetRow& row : kBudgetTable) {
    const RetryPolicy retry =
        Policy(row.per_attempt_ms, row.initial_ms, row.multiplier, row.max_ms,
               row.max_attempts);
    const RetryWorstCase worst = WorstCaseOf(retry);
    EXPECT_EQ(worst.attempts, row.max_attempts);
    EXPECT_EQ(worst.time, milliseconds(row.worst_case_ms));
    EXPECT_EQ(AttemptsThatFit(retry, seconds(10)) >= row.max_attempts,
              row.fits_10s);
  }
}

struct AttemptsRow {
  int per_attempt_ms;
  int initial_ms;
  double multiplier;
  int max_ms;
  int attempts_in_10s;
};

constexpr AttemptsRow kAttemptsTable[] = {
    {500, 100, 2, 2000, 7},  {500, 500, 2, 2000, 5},  {500, 1000, 2, 4000, 4},
    {1000, 100, 2, 2000, 6}, {1000, 500, 2, 2000, 4}, {1000, 1000, 2, 4000, 3},
    {2000, 100, 2, 2000, 4}, {2000, 500, 2, 2000, 3}, {2000, 1000, 2, 4000, 3},
    {3000, 100, 2, 2000, 3}, {3000, 500, 2, 2000, 2}, {3000, 1000, 2, 4000, 2},
};

TEST(RetryWorstCaseTest, AttemptsThatFitInTenSeconds) {
  for (const AttemptsRow& row : kAttemptsTable) {
    EXPECT_EQ(AttemptsThatFit(Policy(row.per_attempt_ms, row.initial_ms,
                                     row.multiplier, row.max_ms, 1),
                              seconds(10)),
              row.attempts_in_10s)
        << row.per_attempt_ms << " " << row.initial_ms;
  }
}

// --- Limits
// ---------------------------------------------------------------------

TEST(RetryWorstCaseTest, WithoutALimitOfAttemptsTheFirstTakesItAll) {
  RetryPolicy retry;
  EXPECT_EQ(WorstCaseOf(retry).attempts, 1);
  EXPECT_EQ(WorstCaseOf(retry).time, std::nullopt);
  EXPECT_EQ(WorstCaseOf(retry, seconds(3)).attempts, 1);
  EXPECT_EQ(WorstCaseOf(retry, seconds(3)).time, seconds(3));
  EXPECT_EQ(AttemptsThatFit(retry, seconds(3)), 1);
}

TEST(RetryWorstCaseTest, AttemptsThatFitToTheNanosecond) {
  const RetryPolicy retry = Policy(2000, 100, 2, 2000, 3);
  EXPECT_EQ(AttemptsThatFit(retry, milliseconds(8700)), 4);
  EXPECT_EQ(AttemptsThatFit(retry, milliseconds(8700) - Duration(1)), 3);
  EXPECT_EQ(AttemptsThatFit(retry, seconds(2)), 1);
  EXPECT_EQ(AttemptsThatFit(retry, seconds(2) - Duration(1)), 0);
}

// Jitter, from the shortest worst case to the longest; waits without it: 1, 2 s.
TEST(RetryWorstCaseTest, JitterCountsAtItsLongest) {
  struct Case {
    Jitter jitter;
    double ratio;
    int waits_ms;
  };
  const Case kCases[] = {
      {Jitter::kNone, 0.2, 3000},
      {Jitter::kFull, 0.2, 3000},
      {Jitter::kEqual, 0.2, 3000},
      {Jitter::kRatio, 0.2, 3600},
      {Jitter::kRatio, 10, 5000 + 5000},  // both at max_backoff
      {Jitter::kDecorrelated, 0.2, 3000 + 5000},
  };
  for (const Case& c : kCases) {
    RetryPolicy retry = Policy(100, 1000, 2, 5000, 3);
    retry.backoff.jitter = c.jitter;
    retry.backoff.jitter_ratio = c.ratio;
    EXPECT_EQ(WorstCaseOf(retry).time, milliseconds(300 + c.waits_ms));
  }
}

TEST(RetryWorstCaseTest, HugeValuesSaturate) {
  constexpr int kMost = std::numeric_limits<int>::max();
  RetryPolicy retry = Policy(1, 1, 1, 1, kMost);
  // A wait fewer than attempts.
  EXPECT_EQ(WorstCaseOf(retry).time, milliseconds(2 * int64_t{kMost} - 1));
  retry.per_attempt_timeout = hours(10'000);
  EXPECT_EQ(WorstCaseOf(retry).time, Duration::max());
  EXPECT_EQ(AttemptsThatFit(retry, Duration::max() - Duration(1)), 256);
  retry.backoff.max_backoff = Duration::max();
  retry.backoff.initial_backoff = Duration::max();
  retry.backoff.jitter = Jitter::kRatio;
  EXPECT_EQ(WorstCaseOf(retry).time, Duration::max());
  EXPECT_EQ(WorstCaseOf(retry, hours(20'000)).attempts, 1);
}

TEST(RetryWorstCaseTest, WaitsThatHardlyGrowAreCountedQuickly) {
  RetryPolicy retry =
      Policy(1, 1, 1.0000001, 1000, std::numeric_limits<int>::max());
  // All but the first 10,000 at max_backoff.
  EXPECT_GT(*WorstCaseOf(retry).time, seconds(2'149'000'000));
  EXPECT_LT(*WorstCaseOf(retry).time, seconds(2'150'000'000));
}

// --- Against the course of a real call
// ------------------------------------------

class RandomPolicies {
 public:
  RetryPolicy Next() {
    RetryPolicy retry =
        Policy(Draw(1, 300), Draw(1, 200), Draw(10, 40) / 10.0, 0, Draw(1, 8));
    retry.backoff.max_backoff =
        retry.backoff.initial_backoff + milliseconds(Draw(0, 500));
    retry.backoff.jitter = static_cast<Jitter>(Draw(0, 4));
    retry.backoff.jitter_ratio = Draw(0, 20) / 10.0;
    retry.min_attempt_time = milliseconds(Draw(0, 50));
    retry.reserve = milliseconds(Draw(0, 2) * Draw(0, 20));
    if (Draw(0, 4) == 0) retry.per_attempt_timeout.reset();
    return retry;
  }
  Duration NextDeadline() { return milliseconds(Draw(1, 2000)); }
  int Draw(int low, int high) {
    return low + static_cast<int>(bits_() % (high - low + 1));
  }

 private:
  std::mt19937_64 bits_{20'170'401};
};

TEST(RetryWorstCaseTest, IsTheCourseOfACallThatHangs) {
  // The longest waits that jitter can give, but for a nanosecond each.
  FixedRandom longest(1);
  FakeClock clock;
  RandomPolicies policies;
  int cut_short = 0;
  for (int i = 0; i < 5000; ++i) {
    const RetryPolicy retry = policies.Next();
    std::optional<Duration> deadline;
    if (!retry.per_attempt_timeout || i % 4 > 0) {
      deadline = policies.NextDeadline();
    }
    SessionPlan plan;
    plan.target = "t:1";
    plan.retry = &retry;
    plan.idempotent = true;
    plan.clock = &clock;
    plan.random = &longest;
    CallSession session(plan, deadline ? Deadline::After(clock.Now(), *deadline)
                                       : Deadline::None());
    const CallRecord call =
        SessionDriver(clock).Run(session, [](int) { return Hang(); });
    const RetryWorstCase worst = WorstCaseOf(retry, deadline);
    ASSERT_EQ(worst.attempts, call.hits) << i;
    ASSERT_LE(call.elapsed, *worst.time) << i;
    ASSERT_GE(call.elapsed, *worst.time - Duration(2 * call.hits)) << i;
    if (worst.attempts < retry.max_attempts) ++cut_short;
  }
  EXPECT_GT(cut_short, 1000);
  EXPECT_LT(cut_short, 4000);
}

}  // namespace
}  // namespace grpc_resilience::internal

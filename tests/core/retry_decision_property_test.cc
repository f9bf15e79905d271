// What holds of every retry decision, whatever the policy and the facts.

#include <gtest/gtest.h>

#include <random>

#include "core/retry_decision.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRounds = 100000;

// Seeded: a failure can be run again.
class Generator {
 public:
  explicit Generator(unsigned seed) : engine_(seed) {}

  int Int(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine_);
  }
  bool Coin() { return Int(0, 1) == 1; }
  // Mostly small, so that waits and deadlines meet; sometimes extreme.
  Duration Length() {
    switch (Int(0, 9)) {
      case 0:
        return Duration::zero();
      case 1:
        return Duration::max();
      default:
        return milliseconds(Int(0, 200));
    }
  }
  // Every second one is worth a retry.
  StatusCode Code() {
    constexpr StatusCode kUsual[] = {StatusCode::UNAVAILABLE,
                                     StatusCode::RESOURCE_EXHAUSTED,
                                     StatusCode::DEADLINE_EXCEEDED};
    return Coin() ? kUsual[Int(0, 2)] : static_cast<StatusCode>(Int(0, 18));
  }

  RetryPolicy Policy() {
    RetryPolicy policy;
    policy.max_attempts = Int(1, 5);
    policy.min_attempt_time = Length();
    if (Coin()) policy.reserve = Length();
    if (Coin()) {
      policy.retryable_status_codes.emplace();
      for (int i = Int(0, 6); i > 0; --i) {
        policy.retryable_status_codes->insert(Code());
      }
    }
    return policy;
  }

  RetryFacts Facts() {
    RetryFacts facts;
    facts.code = Code();
    if (Int(0, 9) == 0) facts.origin = ErrorOrigin::kLocal;
    if (Int(0, 9) == 0) facts.origin = ErrorOrigin::kOwnRejection;
    facts.cancelled_by_caller = Int(0, 9) == 0;
    facts.idempotent = Coin();
    facts.attempts_made = Int(1, 6);
    facts.now = TimePoint(seconds(1000));
    if (Coin()) facts.deadline = Deadline::After(facts.now, Length());
    facts.backoff = Length();
    if (Int(0, 3) == 0) {
      facts.pushback = Pushback{};
      if (Coin()) facts.pushback->wait = Length() - milliseconds(Int(0, 50));
    }
    facts.budget_allows = Int(0, 4) != 0;
    facts.chain_stop = Int(0, 4) == 0;
    if (Int(0, 4) == 0) {
      facts.no_retry =
          Coin() ? StopReason::kCommitted : StopReason::kReplayBufferFull;
    }
    return facts;
  }

 private:
  std::mt19937 engine_;
};

class RetryDecisionPropertyTest : public testing::Test {
 protected:
  // Runs `check` on random policies and facts; `retries` must happen often
  // enough for the property to mean something.
  template <typename Check>
  void ForAll(unsigned seed, Check check) {
    Generator generator(seed);
    int retries = 0;
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
      const RetryPolicy policy = generator.Policy();
      const RetryFacts facts = generator.Facts();
      const RetryDecision decision = DecideRetry(policy, facts);
      if (decision.retry) ++retries;
      check(policy, facts, decision);
      if (HasFailure()) ADD_FAILURE() << "seed " << seed << " round " << round;
    }
    EXPECT_GT(retries, kRounds / 100);
  }
};

// B02, B03
TEST_F(RetryDecisionPropertyTest, NeverWaitsBeyondTheDeadline) {
  ForAll(1, [](const RetryPolicy& policy, const RetryFacts& facts,
               const RetryDecision& decision) {
    if (!decision.retry || facts.deadline.is_none()) return;
    const Duration left = *facts.deadline.Remaining(facts.now);
    EXPECT_LT(decision.wait, left);
    EXPECT_GE(left - decision.wait, policy.reserve);
    EXPECT_GE(left - decision.wait - policy.reserve, policy.min_attempt_time);
  });
}

// B13
TEST_F(RetryDecisionPropertyTest, NeverMakesMoreThanMaxAttempts) {
  ForAll(2, [](const RetryPolicy& policy, const RetryFacts& facts,
               const RetryDecision& decision) {
    EXPECT_TRUE(!decision.retry || facts.attempts_made < policy.max_attempts);
  });
}

// C01
TEST_F(RetryDecisionPropertyTest, NeverRepeatsWhatMayHaveTakenEffect) {
  ForAll(3, [](const RetryPolicy&, const RetryFacts& facts,
               const RetryDecision& decision) {
    if (!decision.retry || facts.idempotent) return;
    EXPECT_TRUE(facts.code == StatusCode::UNAVAILABLE ||
                facts.code == StatusCode::RESOURCE_EXHAUSTED)
        << StatusCodeName(facts.code);
  });
}

TEST_F(RetryDecisionPropertyTest, NeverRetriesWhatCannotOrMustNotBeRepeated) {
  ForAll(7, [](const RetryPolicy&, const RetryFacts& facts,
               const RetryDecision& decision) {
    if (!facts.chain_stop && !facts.no_retry) return;
    EXPECT_FALSE(decision.retry);
    EXPECT_TRUE(!facts.no_retry || decision.reason != StopReason::kChainStop);
  });
}

TEST_F(RetryDecisionPropertyTest, MayRetryIsWhetherThereCanBeARetryAtAll) {
  ForAll(8, [](const RetryPolicy& policy, const RetryFacts& facts,
               const RetryDecision& decision) {
    bool any = false;
    for (int code = 0; code <= 18; ++code) {
      any = any || IsRetryableCode(policy, facts.idempotent,
                                   static_cast<StatusCode>(code));
    }
    EXPECT_EQ(MayRetry(policy, facts.idempotent),
              any && policy.max_attempts > 1);
    EXPECT_TRUE(!decision.retry || MayRetry(policy, facts.idempotent));
  });
}

TEST_F(RetryDecisionPropertyTest, MoreTimeNeverTurnsARetryIntoAStop) {
  ForAll(4, [](const RetryPolicy& policy, RetryFacts facts,
               const RetryDecision& decision) {
    if (!decision.retry || facts.deadline.is_none()) return;
    const TimePoint deadline = *facts.deadline.when();
    for (const Duration more :
         {Duration(1), Duration(milliseconds(10)), Duration::max()}) {
      facts.deadline = Deadline::After(deadline, more);
      const RetryDecision later = DecideRetry(policy, facts);
      EXPECT_TRUE(later.retry);
      EXPECT_EQ(later.wait, decision.wait);
    }
    facts.deadline = Deadline::None();
    EXPECT_TRUE(DecideRetry(policy, facts).retry);
  });
}

TEST_F(RetryDecisionPropertyTest, NeverWaitsForATimeInThePast) {
  ForAll(5, [](const RetryPolicy&, const RetryFacts&,
               const RetryDecision& decision) {
    EXPECT_GE(decision.wait, Duration::zero());
  });
}

TEST_F(RetryDecisionPropertyTest, NeverRetriesWhatTheCallerOrServerRefused) {
  ForAll(6, [](const RetryPolicy&, const RetryFacts& facts,
               const RetryDecision& decision) {
    if (!decision.retry) return;
    EXPECT_FALSE(facts.cancelled_by_caller);
    EXPECT_TRUE(facts.budget_allows);
    EXPECT_EQ(facts.origin, ErrorOrigin::kPeerOrTransport);
    EXPECT_TRUE(!facts.pushback || facts.pushback->wait.has_value());
  });
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "grpc_resilience/config_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Worst case: 5 × 2 s + 0.1 + 0.2 + 0.4 + 0.8 s.
void SetSlow(MethodPolicy* policy) {
  policy->timeout = seconds(10);
  policy->retry.max_attempts = 5;
  policy->retry.per_attempt_timeout = seconds(2);
  policy->retry.backoff.initial_backoff = milliseconds(100);
}

constexpr char kSlow[] =
    ": retry: the worst case of 5 attempts takes 11500 ms, longer than timeout "
    "(10 s), in which 4 attempts fit";

TEST(ConfigWarningsTest, NothingToSayOfTheDefaults) {
  EXPECT_THAT(Warnings(Config()), IsEmpty());
}

// Such a config isn't built, but may be asked about.
TEST(ConfigWarningsTest, HedgingWithoutAHedgeIsNoWorstCase) {
  Config config;
  config.DefaultMethod().timeout = seconds(1);
  config.DefaultMethod().retry.per_attempt_timeout = seconds(2);
  config.DefaultMethod().retry.idempotency = Idempotency::kIdempotent;
  for (const int attempts : {1, 0, -1}) {
    config.DefaultMethod().hedging.emplace().max_hedged_attempts = attempts;
    EXPECT_THAT(Warnings(config), IsEmpty()) << attempts;
  }
}

TEST(ConfigWarningsTest, AWorstCaseBeyondTheTimeoutIsNamedWhereverItIs) {
  Config config;
  SetSlow(&config.DefaultMethod());
  SetSlow(&config.Method("/a.B/C"));
  SetSlow(&config.DefaultTarget().Method("/a.B/*"));
  SetSlow(&config.Target("t:1").DefaultMethod());
  EXPECT_THAT(
      Warnings(config),
      ElementsAre(std::string("default method") + kSlow,
                  std::string("method \"/a.B/C\"") + kSlow,
                  std::string("default target method \"/a.B/*\"") + kSlow,
                  std::string("target \"t:1\" default method") + kSlow));
}

TEST(ConfigWarningsTest, ExactlyTheTimeoutIsEnough) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  SetSlow(&policy);
  policy.timeout = milliseconds(11'500);
  EXPECT_THAT(Warnings(config), IsEmpty());
  *policy.timeout -= Duration(1);
  EXPECT_THAT(Warnings(config), testing::SizeIs(1));
}

TEST(ConfigWarningsTest, OneAttemptThatMayNotTakeItsTime) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  SetSlow(&policy);
  policy.retry.max_attempts = 1;
  policy.timeout = seconds(1);
  EXPECT_THAT(
      Warnings(config),
      ElementsAre("method \"/a.B/C\": retry: the worst case of 1 attempt "
                  "takes 2 s, longer than timeout (1 s), in which 0 "
                  "attempts fit"));
}

TEST(ConfigWarningsTest, NoWarningWhereItCannotHappen) {
  void (*const kChanges[])(MethodPolicy*) = {
      [](MethodPolicy* p) { p->timeout.reset(); },
      [](MethodPolicy* p) { p->retry.per_attempt_timeout.reset(); },
      [](MethodPolicy* p) { p->bypass = true; },
      [](MethodPolicy* p) { p->retry.max_attempts = 1; },
      [](MethodPolicy* p) {
        p->retry.idempotency = Idempotency::kNonIdempotent;
      },
      [](MethodPolicy* p) { p->retry.retryable_status_codes.emplace(); },
      // Not valid: Config::Validate has the word.
      [](MethodPolicy* p) { p->retry.reserve = Duration(-1); },
  };
  for (const auto change : kChanges) {
    Config config;
    SetSlow(&config.Method("/a.B/C"));
    ASSERT_THAT(Warnings(config), testing::SizeIs(1));
    change(&config.Method("/a.B/C"));
    EXPECT_THAT(Warnings(config), IsEmpty());
  }
}

TEST(ConfigWarningsTest, ANonIdempotentMethodRetriesTheListedCodes) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  SetSlow(&policy);
  policy.retry.idempotency = Idempotency::kNonIdempotent;
  policy.retry.retryable_status_codes = std::set{grpc::StatusCode::UNAVAILABLE};
  EXPECT_THAT(Warnings(config), testing::SizeIs(1));
}

TEST(ConfigWarningsTest, HedgedAttemptsRunBesideEachOther) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  SetSlow(&policy);
  policy.timeout = seconds(3);
  policy.retry.max_attempts = 3;  // 6 s, were they retries
  policy.retry.idempotency = Idempotency::kIdempotent;
  policy.hedging.emplace().max_hedged_attempts = 3;
  policy.hedging->hedging_delay = milliseconds(500);
  EXPECT_THAT(Warnings(config), IsEmpty());
  policy.hedging->hedging_delay += Duration(milliseconds(1));
  EXPECT_THAT(Warnings(config),
              ElementsAre("method \"/a.B/C\": hedging: the worst case of 3 "
                          "attempts takes 3002 ms, longer than timeout (3 s)"));
  policy.hedging->hedging_delay = Duration::max();
  EXPECT_THAT(Warnings(config), testing::SizeIs(1));
  policy.hedging->delay_quantile = 0.95;  // nobody knows
  EXPECT_THAT(Warnings(config), IsEmpty());
}

}  // namespace
}  // namespace grpc_resilience

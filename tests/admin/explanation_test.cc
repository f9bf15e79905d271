// The words for each state and mode.

#include "admin/explanation.h"

#include "admin/admin_fixture.h"
#include "core/breaker_context.h"

namespace grpc_resilience::internal {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ExplanationTest : public AdminFixture {
 protected:
  /// Of the breaker "a" under that policy, after what `happens` to it.
  template <typename Happens>
  pb::ExplainBreakerResponse Explained(const BreakerPolicy& policy,
                                       const Happens& happens) {
    Config config;
    config.DefaultTarget().breaker = policy;
    EXPECT_TRUE(resilience_->Update(config).ok());
    const auto breaker = Breaker("a");
    happens(*breaker);
    pb::ExplainBreakerResponse response;
    Explain(breaker->snapshot(), breaker->context()->rules, WallTime(clock_),
            &response);
    return response;
  }
  static double FigureOf(const pb::ExplainBreakerResponse& response,
                         const std::string& name) {
    for (const pb::Figure& figure : response.figures()) {
      if (figure.name() == name) return figure.value();
    }
    ADD_FAILURE() << "no figure " << name;
    return -1;
  }
  static BreakerPolicy HalfOfTwenty() {
    BreakerPolicy policy;
    policy.failure_rate_threshold = 0.5;
    policy.minimum_calls = 20;
    policy.open_duration = seconds(1);
    policy.half_open_calls = 3;
    return policy;
  }
};

TEST_F(ExplanationTest, AClosedBreakerTellsHowFarItIs) {
  const auto response = Explained(HalfOfTwenty(), [](CircuitBreaker& breaker) {
    for (int i = 0; i < 3; ++i) Fail(breaker);
    breaker.TryAcquire()->Record(Outcome::kSuccess, StatusCode::OK);
  });
  EXPECT_EQ(response.summary(), "a is CLOSED and was never anything else");
  EXPECT_THAT(response.details(),
              Contains("in the window: 4 calls, 3 failed (75 %); no verdict "
                       "before 20"));
  EXPECT_EQ(FigureOf(response, "window_failures"), 3);
  EXPECT_DOUBLE_EQ(FigureOf(response, "failure_rate"), 0.75);
}

TEST_F(ExplanationTest, AHalfOpenBreakerTellsOfItsProbes) {
  BreakerPolicy policy = HalfOfTwenty();
  std::optional<Permit> permit;
  const auto response = Explained(policy, [&](CircuitBreaker& breaker) {
    for (int i = 0; i < 20; ++i) Fail(breaker);
    ASSERT_EQ(breaker.state(), State::kOpen);
    clock_.Advance(seconds(2));
    permit = breaker.TryAcquire();
    ASSERT_TRUE(permit.has_value());
  });
  EXPECT_THAT(response.summary(), HasSubstr("a is HALF_OPEN for "));
  EXPECT_THAT(response.details(),
              Contains("1 probes in flight, 0 succeeded of 3 that must; one "
                       "failure opens"));
  EXPECT_EQ(FigureOf(response, "probes_in_flight"), 1);
}

TEST_F(ExplanationTest, ShadowTellsWhatItWouldHaveRejected) {
  const auto response = Explained(HalfOfTwenty(), [](CircuitBreaker& breaker) {
    breaker.ForceMode(OperatorMode::kShadow, minutes(5), "alice: look");
    for (int i = 0; i < 20; ++i) Fail(breaker);
    for (int i = 0; i < 2; ++i) {
      breaker.TryAcquire()->Record(Outcome::kSuccess, StatusCode::OK);
    }
  });
  EXPECT_THAT(response.summary(), HasSubstr("a is OPEN for"));
  EXPECT_THAT(response.details(),
              Contains("mode SHADOW by an operator: alice: look; ends in 5 "
                       "min"));
  EXPECT_THAT(response.details(),
              Contains("in SHADOW it would have rejected 2 calls, of which 2 "
                       "succeeded"));
}

TEST_F(ExplanationTest, ARetryBudgetThatRefusesIsTold) {
  const auto response = Explained({}, [](CircuitBreaker& breaker) {
    for (int i = 0; i < 9; ++i) Fail(breaker);
  });
  EXPECT_THAT(response.details(),
              Contains("the token bucket holds 7 of 16: retries are refused "
                       "until it is more than half full"));
}

TEST_F(ExplanationTest, ASwitchedOffBreakerSaysNoMore) {
  BreakerPolicy policy;
  policy.mode = BreakerMode::kDisabled;
  const auto response = Explained(policy, [](CircuitBreaker&) {});
  EXPECT_EQ(response.summary(), "a: the breaker is switched off by its policy");
  EXPECT_THAT(response.details(), testing::Not(Contains(HasSubstr("opens"))));
}

}  // namespace
}  // namespace grpc_resilience::internal

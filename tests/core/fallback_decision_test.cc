#include "core/fallback_decision.h"

#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow = TimePoint(seconds(100));

struct DecisionCase {
  const char* name;
  EndedCall call;
  bool applies;
};

class FallbackDecisionTest : public testing::TestWithParam<DecisionCase> {};

// I01. INTERNAL is listed in also_on.
TEST_P(FallbackDecisionTest, Applies) {
  FallbackRules rules;
  rules.also_on = {StatusCode::INTERNAL};
  EXPECT_EQ(FallbackApplies(rules, GetParam().call), GetParam().applies);
}

EndedCall Ended(StatusCode code, StopReason reason, int attempts = 1,
                bool local_error = false) {
  EndedCall call;
  call.code = code;
  call.reason = reason;
  call.attempts = attempts;
  call.local_error = local_error;
  return call;
}

INSTANTIATE_TEST_SUITE_P(
    , FallbackDecisionTest,
    testing::Values(
        DecisionCase{"Ok", Ended(StatusCode::OK, StopReason::kOk), false},
        DecisionCase{
            "BreakerOpen",
            Ended(StatusCode::UNAVAILABLE, StopReason::kBreakerOpen, 0), true},
        DecisionCase{
            "BreakerOpenBetweenAttempts",
            Ended(StatusCode::UNAVAILABLE, StopReason::kBreakerOpen, 2), true},
        DecisionCase{
            "RetriesExhausted",
            Ended(StatusCode::UNAVAILABLE, StopReason::kRetriesExhausted, 3),
            true},
        DecisionCase{
            "BudgetExhausted",
            Ended(StatusCode::UNAVAILABLE, StopReason::kBudgetExhausted), true},
        DecisionCase{
            "DeadlineWouldPass",
            Ended(StatusCode::UNAVAILABLE, StopReason::kDeadlineWouldPass),
            true},
        DecisionCase{"Pushback",
                     Ended(StatusCode::UNAVAILABLE, StopReason::kPushback),
                     true},
        DecisionCase{"ChainStop",
                     Ended(StatusCode::UNAVAILABLE, StopReason::kChainStop),
                     true},
        DecisionCase{"NotIdempotent",
                     Ended(StatusCode::UNAVAILABLE, StopReason::kNotIdempotent),
                     true},
        DecisionCase{
            "Deadline",
            Ended(StatusCode::DEADLINE_EXCEEDED, StopReason::kDeadlineExceeded),
            true},
        DecisionCase{"DeadlineBeforeTheFirstAttempt",
                     Ended(StatusCode::DEADLINE_EXCEEDED,
                           StopReason::kDeadlineExceeded, 0),
                     false},
        DecisionCase{
            "CallersFault",
            Ended(StatusCode::INVALID_ARGUMENT, StopReason::kNotRetryable),
            false},
        DecisionCase{
            "CallersFaultThoughRetried",
            Ended(StatusCode::NOT_FOUND, StopReason::kRetriesExhausted, 3),
            false},
        DecisionCase{"NotRetryable",
                     Ended(StatusCode::DATA_LOSS, StopReason::kNotRetryable),
                     false},
        DecisionCase{"Listed",
                     Ended(StatusCode::INTERNAL, StopReason::kNotRetryable),
                     true},
        DecisionCase{
            "ListedButMadeHere",
            Ended(StatusCode::INTERNAL, StopReason::kNotRetryable, 1, true),
            false},
        DecisionCase{"MessageTooLarge",
                     Ended(StatusCode::RESOURCE_EXHAUSTED,
                           StopReason::kRetriesExhausted, 1, true),
                     false},
        DecisionCase{"Cancelled",
                     Ended(StatusCode::CANCELLED, StopReason::kCancelled),
                     false},
        DecisionCase{"CancelledByTheServer",
                     Ended(StatusCode::CANCELLED, StopReason::kNotRetryable),
                     false},
        DecisionCase{"Shutdown",
                     Ended(StatusCode::UNAVAILABLE, StopReason::kShutdown),
                     false}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Every other caller's fault, whatever the reason.
TEST(FallbackApplies, NeverForTheCallersOwnFault) {
  FallbackRules rules;
  for (const StatusCode code :
       {StatusCode::INVALID_ARGUMENT, StatusCode::NOT_FOUND,
        StatusCode::ALREADY_EXISTS, StatusCode::PERMISSION_DENIED,
        StatusCode::FAILED_PRECONDITION, StatusCode::OUT_OF_RANGE,
        StatusCode::UNAUTHENTICATED}) {
    rules.also_on = {code};
    EXPECT_FALSE(
        FallbackApplies(rules, Ended(code, StopReason::kRetriesExhausted, 3)));
    EXPECT_FALSE(
        FallbackApplies(rules, Ended(code, StopReason::kNotRetryable)));
  }
}

TEST(FallbackDeadlines, ReserveIsKeptBack) {
  FallbackRules rules;
  const Deadline overall = Deadline::After(kNow, seconds(1));
  EXPECT_EQ(DeadlineLessReserve(rules, overall, kNow), overall);
  rules.reserve = milliseconds(100);
  EXPECT_EQ(DeadlineLessReserve(rules, overall, kNow),
            Deadline::After(kNow, milliseconds(900)));
  EXPECT_EQ(DeadlineLessReserve(rules, Deadline::None(), kNow),
            Deadline::None());
}

TEST(FallbackDeadlines, ReserveTakesAtMostHalf) {
  FallbackRules rules;
  rules.reserve = seconds(10);
  EXPECT_EQ(DeadlineLessReserve(rules, Deadline::After(kNow, seconds(1)), kNow),
            Deadline::After(kNow, milliseconds(500)));
  EXPECT_EQ(DeadlineLessReserve(rules, Deadline::At(kNow), kNow),
            Deadline::At(kNow));
}

TEST(FallbackDeadlines, AnAnswerHasItsTimeWithinTheDeadline) {
  FallbackRules rules;
  rules.timeout = milliseconds(200);
  EXPECT_EQ(AnswerDeadline(rules, Deadline::None(), kNow),
            Deadline::After(kNow, milliseconds(200)));
  EXPECT_EQ(AnswerDeadline(rules, Deadline::After(kNow, seconds(1)), kNow),
            Deadline::After(kNow, milliseconds(200)));
  EXPECT_EQ(
      AnswerDeadline(rules, Deadline::After(kNow, milliseconds(50)), kNow),
      Deadline::After(kNow, milliseconds(50)));
}

}  // namespace
}  // namespace grpc_resilience::internal

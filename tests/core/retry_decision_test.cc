#include "core/retry_decision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow = TimePoint(seconds(100));

RetryPolicy ThreeAttempts() {
  RetryPolicy policy;
  policy.max_attempts = 3;
  policy.min_attempt_time = milliseconds(5);
  return policy;
}

// After the first attempt of an idempotent call without a deadline.
RetryFacts Facts(StatusCode code) {
  RetryFacts facts;
  facts.code = code;
  facts.idempotent = true;
  facts.attempts_made = 1;
  facts.now = kNow;
  facts.backoff = milliseconds(50);
  return facts;
}

template <typename Change>
RetryFacts Changed(RetryFacts facts, Change change) {
  change(facts);
  return facts;
}

struct StopCase {
  const char* name;
  RetryFacts facts;
  StopReason reason;
};

class RetryStopsTest : public testing::TestWithParam<StopCase> {};

TEST_P(RetryStopsTest, ForTheFirstReasonThatApplies) {
  const RetryDecision decision = DecideRetry(ThreeAttempts(), GetParam().facts);
  EXPECT_FALSE(decision.retry);
  EXPECT_EQ(decision.reason, GetParam().reason);
}

// Every later reason applies as well.
RetryFacts Hopeless(StatusCode code) {
  RetryFacts facts = Facts(code);
  facts.cancelled_by_caller = true;
  facts.idempotent = false;
  facts.attempts_made = 3;
  facts.deadline = Deadline::At(kNow);
  facts.pushback = Pushback{};
  facts.budget_allows = false;
  return facts;
}

INSTANTIATE_TEST_SUITE_P(
    Order, RetryStopsTest,
    testing::ValuesIn(std::vector<StopCase>{
        {"Ok", Hopeless(StatusCode::OK), StopReason::kOk},
        {"Cancelled", Hopeless(StatusCode::NOT_FOUND), StopReason::kCancelled},
        {"NotRetryable",
         Changed(Hopeless(StatusCode::NOT_FOUND),
                 [](RetryFacts& f) { f.cancelled_by_caller = false; }),
         StopReason::kNotRetryable},
        {"MadeLocally",
         Changed(Hopeless(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.cancelled_by_caller = false;
                   f.origin = ErrorOrigin::kLocal;
                 }),
         StopReason::kNotRetryable},
        {"NotIdempotent",
         Changed(Hopeless(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) { f.cancelled_by_caller = false; }),
         StopReason::kNotIdempotent},
        // B14: the call's own deadline, though DEADLINE_EXCEEDED is retried.
        {"DeadlineExceeded",
         Changed(Hopeless(StatusCode::DEADLINE_EXCEEDED),
                 [](RetryFacts& f) {
                   f.cancelled_by_caller = false;
                   f.idempotent = true;
                 }),
         StopReason::kDeadlineExceeded},
        {"RetriesExhausted",
         Changed(Hopeless(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.cancelled_by_caller = false;
                   f.idempotent = true;
                   f.deadline = Deadline::At(kNow + milliseconds(1));
                 }),
         StopReason::kRetriesExhausted},
        // C03
        {"Pushback",
         Changed(Hopeless(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.cancelled_by_caller = false;
                   f.idempotent = true;
                   f.deadline = Deadline::At(kNow + milliseconds(1));
                   f.attempts_made = 2;
                 }),
         StopReason::kPushback},
        {"PushbackBelowZero",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) { f.pushback = Pushback{seconds(-1)}; }),
         StopReason::kPushback},
        {"RejectedBehindThePeer",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.origin = ErrorOrigin::kOwnRejection;
                   f.pushback = Pushback{milliseconds(1)};
                 }),
         StopReason::kPushback},
        {"BudgetExhausted",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.deadline = Deadline::At(kNow + milliseconds(1));
                   f.budget_allows = false;
                 }),
         StopReason::kBudgetExhausted},
        // B03
        {"DeadlineWouldPass",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.deadline = Deadline::At(kNow + milliseconds(50));
                   f.backoff = milliseconds(200);
                 }),
         StopReason::kDeadlineWouldPass},
        {"PushbackBeyondTheDeadline",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.deadline = Deadline::At(kNow + milliseconds(500));
                   f.pushback = Pushback{seconds(1)};
                 }),
         StopReason::kDeadlineWouldPass},
        {"PushbackOfAges",
         Changed(Facts(StatusCode::UNAVAILABLE),
                 [](RetryFacts& f) {
                   f.deadline = Deadline::At(kNow + seconds(1));
                   f.pushback = Pushback{Duration::max()};
                 }),
         StopReason::kDeadlineWouldPass},
    }),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(DecideRetryTest, WaitsForTheBackoff) {
  const RetryDecision decision =
      DecideRetry(ThreeAttempts(), Facts(StatusCode::UNAVAILABLE));
  EXPECT_TRUE(decision.retry);
  EXPECT_EQ(decision.wait, milliseconds(50));
}

// C03
TEST(DecideRetryTest, WaitsForThePushbackInsteadOfTheBackoff) {
  RetryFacts facts = Facts(StatusCode::UNAVAILABLE);
  facts.pushback = Pushback{milliseconds(150)};
  EXPECT_EQ(DecideRetry(ThreeAttempts(), facts).wait, milliseconds(150));
  facts.pushback = Pushback{milliseconds(0)};
  const RetryDecision decision = DecideRetry(ThreeAttempts(), facts);
  EXPECT_TRUE(decision.retry);
  EXPECT_EQ(decision.wait, milliseconds(0));
}

// B03: 50 ms of waiting and 5 ms for the attempt
TEST(DecideRetryTest, TheLeastTimeForAnAttemptIsEnough) {
  RetryFacts facts = Facts(StatusCode::UNAVAILABLE);
  facts.deadline = Deadline::At(kNow + milliseconds(55));
  EXPECT_TRUE(DecideRetry(ThreeAttempts(), facts).retry);
  facts.deadline = Deadline::At(kNow + milliseconds(55) - Duration(1));
  EXPECT_FALSE(DecideRetry(ThreeAttempts(), facts).retry);
}

TEST(DecideRetryTest, AnAttemptNeverBeginsAtTheDeadline) {
  RetryPolicy policy = ThreeAttempts();
  policy.min_attempt_time = Duration::zero();
  RetryFacts facts = Facts(StatusCode::UNAVAILABLE);
  facts.deadline = Deadline::At(kNow + milliseconds(50));
  EXPECT_FALSE(DecideRetry(policy, facts).retry);
  facts.deadline = Deadline::At(kNow + milliseconds(50) + Duration(1));
  EXPECT_TRUE(DecideRetry(policy, facts).retry);
}

TEST(DecideRetryTest, TheReserveIsNoTimeForAnAttempt) {
  RetryPolicy policy = ThreeAttempts();
  policy.reserve = milliseconds(20);
  RetryFacts facts = Facts(StatusCode::UNAVAILABLE);
  facts.deadline = Deadline::At(kNow + milliseconds(75));
  EXPECT_TRUE(DecideRetry(policy, facts).retry);
  facts.deadline = Deadline::At(kNow + milliseconds(75) - Duration(1));
  EXPECT_FALSE(DecideRetry(policy, facts).retry);
}

TEST(DecideRetryTest, SingleAttemptPoliciesEndAfterIt) {
  RetryPolicy policy = ThreeAttempts();
  policy.max_attempts = 1;
  EXPECT_EQ(DecideRetry(policy, Facts(StatusCode::UNAVAILABLE)).reason,
            StopReason::kRetriesExhausted);
}

TEST(DecideRetryTest, NotIdempotentIsOnlySaidWhereItMadeTheDifference) {
  RetryPolicy policy = ThreeAttempts();
  policy.retryable_status_codes = {StatusCode::UNAVAILABLE};
  RetryFacts facts = Facts(StatusCode::DEADLINE_EXCEEDED);
  facts.idempotent = false;
  EXPECT_EQ(DecideRetry(policy, facts).reason, StopReason::kNotRetryable);
  policy.retryable_status_codes = {StatusCode::DEADLINE_EXCEEDED};
  EXPECT_EQ(DecideRetry(policy, facts).reason, StopReason::kNotIdempotent);
}

// --- The usual HTTP table in gRPC's terms
// --------------------------------------

enum class Call { kGet, kPut, kDelete, kPost, kPostWithKey };

// A POST isn't idempotent, and its policy asks for retries by name; with a key
// it is, and more codes are worth a retry.
RetryDecision DecideFor(Call call, StatusCode code) {
  RetryPolicy policy = ThreeAttempts();
  RetryFacts facts = Facts(code);
  if (call == Call::kPost) {
    facts.idempotent = false;
    policy.retryable_status_codes = {StatusCode::UNAVAILABLE,
                                     StatusCode::RESOURCE_EXHAUSTED};
  } else if (call == Call::kPostWithKey) {
    policy.retryable_status_codes = {
        StatusCode::UNAVAILABLE, StatusCode::DEADLINE_EXCEEDED,
        StatusCode::RESOURCE_EXHAUSTED, StatusCode::INTERNAL};
  } else {
    policy.retryable_status_codes = {StatusCode::UNAVAILABLE,
                                     StatusCode::DEADLINE_EXCEEDED,
                                     StatusCode::RESOURCE_EXHAUSTED};
  }
  return DecideRetry(policy, facts);
}

struct HttpCase {
  const char* name;
  Call call;
  StatusCode code;
  bool retry;
};

class HttpTableTest : public testing::TestWithParam<HttpCase> {};

TEST_P(HttpTableTest, RetriesWhatIsSafeToSendTwice) {
  EXPECT_EQ(DecideFor(GetParam().call, GetParam().code).retry,
            GetParam().retry);
}

INSTANTIATE_TEST_SUITE_P(
    Table, HttpTableTest,
    testing::ValuesIn(std::vector<HttpCase>{
        {"Get503", Call::kGet, StatusCode::UNAVAILABLE, true},
        {"Get404", Call::kGet, StatusCode::NOT_FOUND, false},
        {"Post503", Call::kPost, StatusCode::UNAVAILABLE, true},
        {"Post500", Call::kPost, StatusCode::INTERNAL, false},
        {"PostWithKey500", Call::kPostWithKey, StatusCode::INTERNAL, true},
        {"Post504", Call::kPost, StatusCode::DEADLINE_EXCEEDED, false},
        {"Put504", Call::kPut, StatusCode::DEADLINE_EXCEEDED, true},
        {"Delete429", Call::kDelete, StatusCode::RESOURCE_EXHAUSTED, true},
        {"PostWithKey409", Call::kPostWithKey, StatusCode::ABORTED, false},
        {"Get401", Call::kGet, StatusCode::UNAUTHENTICATED, false},
    }),
    [](const auto& tested) { return std::string(tested.param.name); });

// --- Codes ---------------------------------------------------------------

std::vector<StatusCode> RetryableCodes(const RetryPolicy& policy,
                                       bool idempotent) {
  std::vector<StatusCode> codes;
  // As far as the enum can hold a number.
  for (int number = -1; number <= 31; ++number) {
    const auto code = static_cast<StatusCode>(number);
    if (IsRetryableCode(policy, idempotent, code)) codes.push_back(code);
  }
  return codes;
}

TEST(IsRetryableCodeTest, DefaultsCoverIdempotentMethodsOnly) {
  const RetryPolicy policy;
  EXPECT_EQ(RetryableCodes(policy, true),
            (std::vector<StatusCode>{StatusCode::DEADLINE_EXCEEDED,
                                     StatusCode::UNAVAILABLE}));
  EXPECT_TRUE(RetryableCodes(policy, false).empty());  // C01
}

TEST(IsRetryableCodeTest, OfAListOthersGetOnlyWhatTookNoEffect) {
  RetryPolicy policy;
  policy.retryable_status_codes = {StatusCode::OK,
                                   StatusCode::CANCELLED,
                                   StatusCode::UNKNOWN,
                                   StatusCode::ABORTED,
                                   StatusCode::INTERNAL,
                                   StatusCode::UNAVAILABLE,
                                   StatusCode::RESOURCE_EXHAUSTED};
  EXPECT_EQ(
      RetryableCodes(policy, true),
      (std::vector<StatusCode>{
          StatusCode::UNKNOWN, StatusCode::RESOURCE_EXHAUSTED,
          StatusCode::ABORTED, StatusCode::INTERNAL, StatusCode::UNAVAILABLE}));
  EXPECT_EQ(RetryableCodes(policy, false),
            (std::vector<StatusCode>{StatusCode::RESOURCE_EXHAUSTED,
                                     StatusCode::UNAVAILABLE}));
}

TEST(IsRetryableCodeTest, AnEmptyListRetriesNothing) {
  RetryPolicy policy;
  policy.retryable_status_codes.emplace();
  EXPECT_TRUE(RetryableCodes(policy, true).empty());
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "grpc_resilience/outcome.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace grpc_resilience {
namespace {

struct ClassifyCase {
  const char* name;
  AttemptResult result;
  Outcome outcome;
  IgnoredCause cause = IgnoredCause::kNone;
};

AttemptResult Result(StatusCode code) {
  AttemptResult result;
  result.code = code;
  return result;
}

AttemptResult Local(StatusCode code) {
  AttemptResult result = Result(code);
  result.origin = ErrorOrigin::kLocal;
  return result;
}

AttemptResult Made(ErrorOrigin origin, StatusCode code) {
  AttemptResult result = Result(code);
  result.origin = origin;
  return result;
}

AttemptResult Probe(AttemptResult result) {
  result.is_probe = true;
  return result;
}

AttemptResult Cancelled(StatusCode code) {
  AttemptResult result = Result(code);
  result.cancelled_by_caller = true;
  return result;
}

AttemptResult Hurried(StatusCode code) {
  AttemptResult result = Result(code);
  result.had_fair_time = false;
  return result;
}

// No code of gRPC; the largest number that its enum can hold.
constexpr auto kUndefinedCode = static_cast<StatusCode>(31);

class ClassifyTest : public testing::TestWithParam<ClassifyCase> {};

// C13
TEST_P(ClassifyTest, FollowsTheTable) {
  const Classification got = Classify(GetParam().result);
  EXPECT_EQ(got.outcome, GetParam().outcome);
  EXPECT_EQ(got.cause, GetParam().cause);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ClassifyTest,
    testing::ValuesIn(std::vector<ClassifyCase>{
        {"Ok", Result(StatusCode::OK), Outcome::kSuccess},
        {"InvalidArgument", Result(StatusCode::INVALID_ARGUMENT),
         Outcome::kSuccess},
        {"NotFound", Result(StatusCode::NOT_FOUND), Outcome::kSuccess},
        {"AlreadyExists", Result(StatusCode::ALREADY_EXISTS),
         Outcome::kSuccess},
        {"PermissionDenied", Result(StatusCode::PERMISSION_DENIED),
         Outcome::kSuccess},
        {"Unauthenticated", Result(StatusCode::UNAUTHENTICATED),
         Outcome::kSuccess},
        {"FailedPrecondition", Result(StatusCode::FAILED_PRECONDITION),
         Outcome::kSuccess},
        {"OutOfRange", Result(StatusCode::OUT_OF_RANGE), Outcome::kSuccess},
        {"Aborted", Result(StatusCode::ABORTED), Outcome::kSuccess},
        {"Unimplemented", Result(StatusCode::UNIMPLEMENTED), Outcome::kSuccess},
        {"CancelledByThePeer", Result(StatusCode::CANCELLED),
         Outcome::kSuccess},
        {"UndefinedCode", Result(kUndefinedCode), Outcome::kSuccess},
        {"Unavailable", Result(StatusCode::UNAVAILABLE), Outcome::kFailure},
        {"Internal", Result(StatusCode::INTERNAL), Outcome::kFailure},
        {"Unknown", Result(StatusCode::UNKNOWN), Outcome::kFailure},
        {"DataLoss", Result(StatusCode::DATA_LOSS), Outcome::kFailure},
        {"ResourceExhausted", Result(StatusCode::RESOURCE_EXHAUSTED),
         Outcome::kFailure},
        {"DeadlineAfterAFairTime", Result(StatusCode::DEADLINE_EXCEEDED),
         Outcome::kFailure},
        {"DeadlineSooner", Hurried(StatusCode::DEADLINE_EXCEEDED),
         Outcome::kIgnored, IgnoredCause::kDeadlineTooShort},
        {"UnavailableInAHurry", Hurried(StatusCode::UNAVAILABLE),
         Outcome::kFailure},
        {"MessageTooLarge", Local(StatusCode::RESOURCE_EXHAUSTED),
         Outcome::kIgnored, IgnoredCause::kLocalError},
        {"LocalInternal", Local(StatusCode::INTERNAL), Outcome::kIgnored,
         IgnoredCause::kLocalError},
        {"CancelledByTheCaller", Cancelled(StatusCode::CANCELLED),
         Outcome::kIgnored, IgnoredCause::kCancelled},
        {"UnavailableOfACancelledCall", Cancelled(StatusCode::UNAVAILABLE),
         Outcome::kIgnored, IgnoredCause::kCancelled},
        {"RejectedByABreakerOfOurOwn",
         Made(ErrorOrigin::kOwnRejection, StatusCode::UNAVAILABLE),
         Outcome::kIgnored, IgnoredCause::kOwnRejection},
        {"CallWithoutAConnection",
         Made(ErrorOrigin::kNotConnected, StatusCode::UNAVAILABLE),
         Outcome::kFailure},
        {"ProbeWithoutAConnection",
         Probe(Made(ErrorOrigin::kNotConnected, StatusCode::UNAVAILABLE)),
         Outcome::kIgnored, IgnoredCause::kNeutralProbe},
        {"ProbeWithoutAConnectionThatTimedOut",
         Probe(Made(ErrorOrigin::kNotConnected, StatusCode::DEADLINE_EXCEEDED)),
         Outcome::kFailure},
        {"ProbeThatFoundAPeer", Probe(Result(StatusCode::UNAVAILABLE)),
         Outcome::kFailure},
        {"OkOfACancelledCall", Cancelled(StatusCode::OK), Outcome::kSuccess},
    }),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(StatusCodeNameTest, NamesEveryCodeOfGrpc) {
  const std::vector<std::string> names = {"OK",
                                          "CANCELLED",
                                          "UNKNOWN",
                                          "INVALID_ARGUMENT",
                                          "DEADLINE_EXCEEDED",
                                          "NOT_FOUND",
                                          "ALREADY_EXISTS",
                                          "PERMISSION_DENIED",
                                          "RESOURCE_EXHAUSTED",
                                          "FAILED_PRECONDITION",
                                          "ABORTED",
                                          "OUT_OF_RANGE",
                                          "UNIMPLEMENTED",
                                          "INTERNAL",
                                          "UNAVAILABLE",
                                          "DATA_LOSS",
                                          "UNAUTHENTICATED"};
  for (std::size_t code = 0; code < names.size(); ++code) {
    EXPECT_EQ(StatusCodeName(static_cast<StatusCode>(code)), names[code]);
  }
}

TEST(StatusCodeNameTest, NumbersThatGrpcDoesNotDefineKeepTheirNumber) {
  EXPECT_EQ(StatusCodeName(kUndefinedCode), "CODE_31");
  EXPECT_EQ(StatusCodeName(StatusCode::DO_NOT_USE), "CODE_-1");
}

TEST(OutcomeTextTest, NamesOutcomesAndCauses) {
  EXPECT_EQ(ToString(Outcome::kSuccess), "SUCCESS");
  EXPECT_EQ(ToString(Outcome::kFailure), "FAILURE");
  EXPECT_EQ(ToString(Outcome::kIgnored), "IGNORED");
  EXPECT_EQ(ToString(IgnoredCause::kNone), "NONE");
  EXPECT_EQ(ToString(IgnoredCause::kCancelled), "CANCELLED");
  EXPECT_EQ(ToString(IgnoredCause::kDeadlineTooShort), "DEADLINE_TOO_SHORT");
  EXPECT_EQ(ToString(IgnoredCause::kLocalError), "LOCAL_ERROR");
  EXPECT_EQ(ToString(IgnoredCause::kDropped), "DROPPED");
  EXPECT_EQ(ToString(IgnoredCause::kStale), "STALE");
  EXPECT_EQ(ToString(IgnoredCause::kOwnRejection), "OWN_REJECTION");
  EXPECT_EQ(ToString(IgnoredCause::kNeutralProbe), "NEUTRAL_PROBE");
  EXPECT_EQ(ToString(IgnoredCause::kUnspecified), "UNSPECIFIED");
  // One more than the last of them.
  EXPECT_EQ(static_cast<std::size_t>(IgnoredCause::kUnspecified) + 1,
            kIgnoredCauses);
}

}  // namespace
}  // namespace grpc_resilience

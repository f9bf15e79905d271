// What answers of several processes make of the exit status, and JSON.

#include "tools/resiliencectl/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace grpc_resilience::tools {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

grpc::Status NotFound() {
  return {grpc::StatusCode::NOT_FOUND, "no breaker of a"};
}
grpc::Status Refused() {
  return {grpc::StatusCode::UNAVAILABLE, "connection refused"};
}

ExitCode ExitOf(const std::vector<grpc::Status>& statuses) {
  Report report{Options()};
  CaptureStderr();
  for (const grpc::Status& status : statuses) report.Check("p:1", status);
  const ExitCode code = report.Finish();
  GetCapturedStderr();
  return code;
}

TEST(ReportTest, TheWorstAnswerIsTheExitStatus) {
  EXPECT_EQ(ExitOf({grpc::Status::OK, grpc::Status::OK}), kOk);
  EXPECT_EQ(ExitOf({grpc::Status::OK, Refused()}), kNoAnswer);
  EXPECT_EQ(ExitOf({Refused(), {grpc::StatusCode::PERMISSION_DENIED, "x"}}),
            kNotAllowed);
  EXPECT_EQ(ExitOf({{grpc::StatusCode::UNAUTHENTICATED, "x"}}), kNotAllowed);
  EXPECT_EQ(ExitOf({{grpc::StatusCode::INVALID_ARGUMENT, "x"}}), kUsage);
  EXPECT_EQ(ExitOf({{grpc::StatusCode::DEADLINE_EXCEEDED, "x"}}), kNoAnswer);
  EXPECT_EQ(ExitOf({{grpc::StatusCode::UNIMPLEMENTED, "x"}}), kFailed);
}

// One that isn't here is fine as long as it is there.
TEST(ReportTest, ABreakerHasToBeSomewhere) {
  EXPECT_EQ(ExitOf({NotFound(), grpc::Status::OK}), kOk);
  EXPECT_EQ(ExitOf({NotFound(), NotFound()}), kNotFound);
  EXPECT_EQ(ExitOf({NotFound(), Refused()}), kNoAnswer);
}

TEST(ReportTest, ErrorsAreSentencesAndJson) {
  Options options;
  options.json = true;
  Report report(options);
  CaptureStdout();
  CaptureStderr();
  EXPECT_FALSE(report.Check("p:1", Refused()));
  EXPECT_FALSE(report.Check("p:2", {grpc::StatusCode::INTERNAL, "a \"b\"\n"}));
  EXPECT_EQ(GetCapturedStdout(),
            "{\"address\":\"p:1\",\"error\":{\"code\":\"UNAVAILABLE\","
            "\"message\":\"connection refused\"}}\n"
            "{\"address\":\"p:2\",\"error\":{\"code\":\"INTERNAL\","
            "\"message\":\"a \\\"b\\\"\\n\"}}\n");
  EXPECT_THAT(
      GetCapturedStderr(),
      HasSubstr("resiliencectl: p:1: not reachable: connection refused\n"));
}

TEST(ReportTest, ResultsAreOneLineWithAllFields) {
  pb::GetBreakerResponse response;
  response.mutable_breaker()->mutable_key()->set_target("a\nb");
  CaptureStdout();
  Report(Options()).Json("p:1", response);
  const std::string line = GetCapturedStdout();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_THAT(line, testing::StartsWith("{\"address\":\"p:1\",\"result\":{"));
  EXPECT_THAT(line, HasSubstr("\"target\":\"a\\nb\""));
  EXPECT_THAT(line, HasSubstr("\"probe_ready\":false"));
}

}  // namespace
}  // namespace grpc_resilience::tools

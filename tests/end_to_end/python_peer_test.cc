// The wire as another gRPC implementation sees it: a server in Python.

#include <cstdlib>

#include "support/end_to_end_test.h"

#ifndef TEST_PYTHON
#define TEST_PYTHON "/usr/bin/python3"
#endif

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class PythonPeerTest : public WayTest {
 protected:
  static void SetUpTestSuite() {
    if (std::system(TEST_PYTHON " -c 'import grpc' 2>/dev/null") != 0) return;
    peer_ = BackendProcess::Start(TEST_PYTHON, {PythonPeerPath()});
  }
  static void TearDownTestSuite() { peer_.reset(); }
  void SetUp() override {
    ASSERT_NE(peer_, nullptr) << TEST_PYTHON " has no grpc module";
  }

  inline static std::unique_ptr<BackendProcess> peer_;
};

TEST_P(PythonPeerTest, EveryAttemptIsWhole) {
  const auto channel =
      CreateChannel(MakeResilience(RetryConfig()), peer_->target(),
                    grpc::InsecureChannelCredentials());
  const EchoRequest request = NewRequest();
  grpc::ClientContext context;
  SetDeadline(&context, seconds(10));
  context.AddMetadata("x-key", request.key());
  context.AddMetadata("x-fail-times", "2");
  context.AddMetadata("b-bin", std::string("\0\1\xff", 3));
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, &context, request, &response);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(result.Trailing("x"), SizeIs(0));
  ASSERT_THAT(response.items(), SizeIs(3));
  for (const std::string& attempt : response.items()) {
    EXPECT_THAT(
        attempt,
        HasSubstr("method=" + MethodName(EchoMethod::kIdempotent) + "\n"));
    EXPECT_THAT(attempt,
                HasSubstr("bytes=" + std::to_string(request.ByteSizeLong())));
    EXPECT_THAT(attempt, HasSubstr("b-bin=0001ff"));
    const std::string left = "time-left-ms=";
    ASSERT_THAT(attempt, HasSubstr(left));
    // gRPC rounds grpc-timeout up by as much as 1 %.
    EXPECT_NEAR(std::atoi(attempt.c_str() + attempt.find(left) + left.size()),
                9500, 601);
  }
  const std::string header = "grpc-previous-rpc-attempts=";
  EXPECT_THAT(response.items(0), Not(HasSubstr(header)));
  EXPECT_THAT(response.items(1), HasSubstr(header + "1"));
  EXPECT_THAT(response.items(2), HasSubstr(header + "2"));
}

TEST_P(PythonPeerTest, LastFailureIsTheCallers) {
  const auto channel =
      CreateChannel(MakeResilience(RetryConfig()), peer_->target(),
                    grpc::InsecureChannelCredentials());
  const EchoRequest request = NewRequest();
  grpc::ClientContext context;
  context.AddMetadata("x-key", request.key());
  context.AddMetadata("x-fail-times", "100");
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, &context, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "attempt 3 failed");
  EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
}

INSTANTIATE_TEST_SUITE_P(, PythonPeerTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

// What the caller can see after the call is the last attempt's, and only that.

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ResultsTest : public WayTest {};

// A14.
TEST_P(ResultsTest, DetailsAndMetadataAreTheLastAttempts) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_details("d#");
  request.mutable_script()->set_number_metadata(true);
  const CallResult result =
      Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_EQ(result.status.error_details(), "d3");
  EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
  EXPECT_THAT(result.Initial("y"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-status-details-bin"), ElementsAre("d3"));
}

// A14, for a call that succeeds in the end.
TEST_P(ResultsTest, MetadataOfASuccessIsTheLastAttempts) {
  EchoRequest request = FailingRequest(2);
  request.mutable_script()->set_details("d#");
  request.mutable_script()->set_number_metadata(true);
  const CallResult result =
      Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request);
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
  EXPECT_THAT(result.Initial("y"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-status-details-bin"), IsEmpty());
}

// The same keys as without us, on failures that are not retried.
TEST_P(ResultsTest, UnretriedFailureLooksAsItDoesWithoutUs) {
  EchoRequest request = FailingRequest(-1, StatusCode::NOT_FOUND);
  request.mutable_script()->set_details("details");
  Metadata* entry = request.mutable_script()->add_trailing();
  entry->set_key("t-bin");
  entry->set_value(std::string("\0\1", 2));
  const CallResult plain =
      Call(PlainChannel(), EchoMethod::kIdempotent, request);
  const CallResult ours =
      Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request);
  EXPECT_EQ(ours.status.error_code(), plain.status.error_code());
  EXPECT_EQ(ours.status.error_details(), plain.status.error_details());
  EXPECT_EQ(ours.Trailing("t-bin"), plain.Trailing("t-bin"));
  EXPECT_EQ(ours.Trailing("grpc-status-details-bin"),
            plain.Trailing("grpc-status-details-bin"));
  EXPECT_EQ(Hits(request).count(), 2);
}

// A36. Headers are no reason to stop: nothing was shown to the caller yet.
TEST_P(ResultsTest, FailureAfterHeadersIsRetried) {
  EchoRequest request = FailingRequest(2);
  request.mutable_script()->set_send_headers_first(true);
  request.mutable_script()->set_number_metadata(true);
  EchoResponse response;
  const CallResult result = Call(NewChannel(RetryConfig()),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(response.hit(), 3);
  EXPECT_THAT(result.Initial("y"), ElementsAre("3"));
  EXPECT_EQ(Hits(request).count(), 3);
}

// A37.
TEST_P(ResultsTest, PeerAndDebugStringAfterAFailure) {
  const CallResult result = Call(NewChannel(RetryConfig()),
                                 EchoMethod::kIdempotent, FailingRequest(-1));
  EXPECT_THAT(result.peer, Not(IsEmpty()));
  EXPECT_THAT(result.debug_error_string, Not(IsEmpty()));
  EXPECT_THAT(result.debug_error_string, testing::HasSubstr("hit 3 failed"));
}

// A failure without a connection is a failure like any other.
TEST_P(ResultsTest, NobodyListens) {
  auto gone = BackendProcess::Start(BackendPath());
  const std::string target = gone->target();
  gone.reset();
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(CreateChannel(MakeResilience(RetryConfig()), target,
                         grpc::InsecureChannelCredentials()),
           EchoMethod::kIdempotent, NewRequest(), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.status.error_message(), Not(IsEmpty()));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_THAT(response.items(), ElementsAre("old"));
}

// A message over the size limit is made on this side: never retried.
TEST_P(ResultsTest, LocallyMadeErrorIsNotRetried) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(1000);
  Config config = RetryConfig();
  config.Method(MethodName(EchoMethod::kIdempotent)) = config.DefaultMethod();
  RetryPolicy& retry = config.Method(MethodName(EchoMethod::kIdempotent)).retry;
  retry.idempotency = Idempotency::kIdempotent;
  retry.retryable_status_codes = {StatusCode::RESOURCE_EXHAUSTED};
  EchoRequest request = NewRequest();
  request.mutable_script()->set_response_bytes(2000);
  const CallResult result =
      Call(CreateChannel(MakeResilience(std::move(config)), backend().target(),
                         grpc::InsecureChannelCredentials(), args),
           EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Hits(request).count(), 1);
}

INSTANTIATE_TEST_SUITE_P(, ResultsTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

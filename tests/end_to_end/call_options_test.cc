// What a caller asks for one call, and what an inbound call asks of those made to
// serve it.

#include "grpc_resilience/call_options.h"

#include <future>

#include "grpc_resilience/server_context.h"
#include "support/end_to_end_test.h"
#include "support/event_log.h"
#include "support/middle_server.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CallOptionsTest : public StyleTest {
 protected:
  CallResult CallWith(const CallOptions& options, const EchoRequest& request,
                      Config config = RetryConfig()) {
    grpc::ClientContext context;
    EXPECT_TRUE(SetCallOptions(options, &context).ok());
    EchoResponse response;
    return Call(NewChannel(std::move(config)), EchoMethod::kIdempotent,
                &context, request, &response);
  }
  static void ExpectNothingOnTheWire(const HitsResponse& hits) {
    for (const Observation& hit : hits.hits()) {
      EXPECT_THAT(Seen(hit, "grpc-resilience-call-options"), IsEmpty());
      EXPECT_THAT(Seen(hit, "grpc-resilience-chain-stop"), IsEmpty());
    }
  }
};

TEST_P(CallOptionsTest, MoreAttempts) {
  CallOptions options;
  options.max_attempts = 5;
  const EchoRequest request = FailingRequest(4);
  EXPECT_TRUE(CallWith(options, request).status.ok());
  EXPECT_THAT(Hits(request).hits(), SizeIs(5));
  ExpectNothingOnTheWire(Hits(request));
}

TEST_P(CallOptionsTest, NoRetry) {
  CallOptions options;
  options.max_attempts = 1;
  const EchoRequest request = FailingRequest(1);
  EXPECT_EQ(CallWith(options, request).status.error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_THAT(Hits(request).hits(), SizeIs(1));
  ExpectNothingOnTheWire(Hits(request));
}

TEST_P(CallOptionsTest, AttemptsWithALimit) {
  CallOptions options;
  options.per_attempt_timeout = milliseconds(100);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  const CallResult result = CallWith(options, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_NEAR(Milliseconds(result.elapsed), 110, 50 * TimeFactor());
  ExpectNothingOnTheWire(Hits(request));
}

TEST_P(CallOptionsTest, ACallWithALimit) {
  CallOptions options;
  options.timeout = milliseconds(100);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  const CallResult result = CallWith(options, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 100, 50 * TimeFactor());
}

// The next call of the channel is as usual.
TEST_P(CallOptionsTest, HoldForTheirCallOnly) {
  const auto channel = NewChannel(RetryConfig());
  grpc::ClientContext context;
  CallOptions options;
  options.max_attempts = 1;
  EXPECT_TRUE(SetCallOptions(options, &context).ok());
  EchoResponse response;
  const EchoRequest first = FailingRequest(-1);
  Call(channel, EchoMethod::kIdempotent, &context, first, &response);
  const EchoRequest second = FailingRequest(-1);
  Call(channel, EchoMethod::kIdempotent, second);
  EXPECT_THAT(Hits(first).hits(), SizeIs(1));
  EXPECT_THAT(Hits(second).hits(), SizeIs(3));
}

TEST_P(CallOptionsTest, NeverReachTheWireOfABypassedMethod) {
  Config config = RetryConfig();
  config.DefaultMethod().bypass = true;
  CallOptions options;
  options.max_attempts = 5;
  const EchoRequest request = FailingRequest(-1);
  CallWith(options, request, std::move(config));
  EXPECT_THAT(Hits(request).hits(), SizeIs(1));
  ExpectNothingOnTheWire(Hits(request));
}

INSTANTIATE_TEST_SUITE_P(, CallOptionsTest, AllCallStyles(), CallStyleName);

class PropagateTest : public StyleTest {
 protected:
  static std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target,
                                                  Config config) {
    return CreateChannel(MakeResilience(std::move(config)), target,
                         grpc::InsecureChannelCredentials());
  }
  /// Passes each call on by a context of its own.
  MiddleServer::Serve Onward(std::shared_ptr<grpc::Channel> onward) const {
    return [style = style(), onward = std::move(onward)](
               grpc::ServerContext* inbound, const EchoRequest& request,
               EchoResponse* response) {
      grpc::ClientContext outbound;
      PropagationChoice choice;
      choice.metadata = {"x-request-id"};
      Propagate(*inbound, &outbound, choice);
      return test::Call(style, onward, EchoMethod::kIdempotent, &outbound,
                        request, response)
          .status;
    };
  }
};

// Three tiers that each may try three times: three attempts at the bottom for the
// first attempt above, one for each repetition, not three times three.
TEST_P(PropagateTest, ARetriedCallIsNotRetriedFurtherDown) {
  MiddleServer middle(Onward(NewChannel(RetryConfig())));
  const EchoRequest request = FailingRequest(-1);
  const CallResult result = Call(ChannelTo(middle.target(), RetryConfig()),
                                 EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  const HitsResponse hits = Hits(request);
  EXPECT_THAT(hits.hits(), SizeIs(3 + 1 + 1));
  for (const Observation& hit : hits.hits()) {
    EXPECT_THAT(Seen(hit, "grpc-resilience-chain-stop"), IsEmpty());
  }
}

TEST_P(PropagateTest, ChainStopCanBeSwitchedOff) {
  Config config = RetryConfig();
  config.DefaultMethod().retry.chain_stop = false;
  MiddleServer middle(Onward(NewChannel(std::move(config))));
  const EchoRequest request = FailingRequest(-1);
  Call(ChannelTo(middle.target(), RetryConfig()), EchoMethod::kIdempotent,
       request);
  EXPECT_THAT(Hits(request).hits(), SizeIs(9));
}

// What the backend says of time is no word on the inbound call's.
TEST_P(PropagateTest, AServersDeadlineExceededIsRetried) {
  MiddleServer middle(Onward(NewChannel(RetryConfig())));
  const EchoRequest request = FailingRequest(1, StatusCode::DEADLINE_EXCEEDED);
  grpc::ClientContext context;
  SetDeadline(&context, seconds(20));
  EchoResponse response;
  EXPECT_TRUE(Call(ChannelTo(middle.target(), RetryConfig(1)),
                   EchoMethod::kIdempotent, &context, request, &response)
                  .status.ok());
  EXPECT_THAT(Hits(request).hits(), SizeIs(2));
}

TEST_P(PropagateTest, DeadlineAndChosenMetadataAreHandedOn) {
  MiddleServer middle(Onward(NewChannel(RetryConfig())));
  const EchoRequest request = NewRequest();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(3000));
  context.AddMetadata("x-request-id", "7");
  context.AddMetadata("x-secret", "s");
  EchoResponse response;
  EXPECT_TRUE(Call(ChannelTo(middle.target(), RetryConfig()),
                   EchoMethod::kIdempotent, &context, request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(1));
  EXPECT_NEAR(hits.hits(0).time_left_ms(), 3000, 200 * TimeFactor());
  EXPECT_THAT(Seen(hits.hits(0), "x-request-id"), ElementsAre("7"));
  EXPECT_THAT(Seen(hits.hits(0), "x-secret"), IsEmpty());
}

TEST_P(PropagateTest, CancellationIsHandedOn) {
  MiddleServer middle(Onward(NewChannel(RetryConfig())));
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  const auto channel = ChannelTo(middle.target(), RetryConfig());
  grpc::ClientContext context;
  EchoResponse response;
  RunningCall call =
      Start(CallStyle::kCallback, channel, EchoMethod::kIdempotent, &context,
            request, &response);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the bottom is called");
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  WaitUntil([&] { return Hits(request).hits(0).cancelled(); },
            "the bottom sees the cancellation");
}

INSTANTIATE_TEST_SUITE_P(, PropagateTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

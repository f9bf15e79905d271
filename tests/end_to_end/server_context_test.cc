// A23. Calls made while serving an inbound call (ClientContext::FromServerContext)
// end with it, whether an attempt is under way or a backoff.

#include "support/end_to_end_test.h"
#include "support/onward_server.h"

namespace grpc_resilience::test {
namespace {

class ServerContextTest : public WayTest {
 protected:
  EchoRequest HangingRequest() {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_hang_times(-1);
    return request;
  }
  Config LongBackoff() {
    Config config = RetryConfig();
    SetBackoff(&config.DefaultMethod().retry, seconds(10));
    return config;
  }

  // Calls the middle server, cancels the inbound call 50 ms after the backend's
  // first hit, and expects the outbound one to end by that.
  void ExpectCancelReachesOutbound(Config config, const EchoRequest& request) {
    OnwardServer middle(style(), NewChannel(std::move(config)));
    grpc::ClientContext context;
    EchoResponse response;
    RunningCall inbound =
        Start(CallStyle::kCallback, middle.channel(), EchoMethod::kUnary,
              &context, request, &response);
    WaitUntil([&] { return Hits(request).count() == 1; }, "the first hit");
    std::this_thread::sleep_for(milliseconds(50));
    const auto cancelled_at = std::chrono::steady_clock::now();
    context.TryCancel();
    const CallResult outbound = middle.TakeOutbound();
    EXPECT_EQ(outbound.status.error_code(), StatusCode::CANCELLED)
        << outbound.status.error_message();
    EXPECT_LT(Milliseconds(middle.ended_at() - cancelled_at),
              100 * TimeFactor());
    EXPECT_EQ(inbound.Wait().status.error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(Hits(request).count(), 1);
  }
};

TEST_P(ServerContextTest, CancelEndsAnAttempt) {
  ExpectCancelReachesOutbound(RetryConfig(), HangingRequest());
}

TEST_P(ServerContextTest, CancelEndsABackoff) {
  ExpectCancelReachesOutbound(LongBackoff(), FailingRequest(-1));
}

Config Hedged(Config config) {
  config.DefaultMethod().hedging.emplace().hedging_delay = seconds(20);
  return config;
}

TEST_P(ServerContextTest, CancelEndsAHedgedAttempt) {
  ExpectCancelReachesOutbound(Hedged(RetryConfig()), HangingRequest());
}

// Then no attempt is on the wire that gRPC would cancel.
TEST_P(ServerContextTest, CancelEndsTheWaitForAHedge) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_pushback_ms("10000");
  ExpectCancelReachesOutbound(Hedged(RetryConfig()), request);
}

// The inbound deadline ends an attempt; gRPC itself may say CANCELLED there.
TEST_P(ServerContextTest, DeadlineEndsAnAttempt) {
  OnwardServer middle(style(), NewChannel(RetryConfig()));
  const EchoRequest request = HangingRequest();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  EchoResponse response;
  const auto started = std::chrono::steady_clock::now();
  RunningCall inbound = Start(CallStyle::kCallback, middle.channel(),
                              EchoMethod::kUnary, &context, request, &response);
  const CallResult outbound = middle.TakeOutbound();
  EXPECT_THAT(
      outbound.status.error_code(),
      testing::AnyOf(StatusCode::DEADLINE_EXCEEDED, StatusCode::CANCELLED));
  EXPECT_NEAR(Milliseconds(middle.ended_at() - started), 200,
              100 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
  // grpc-timeout is rounded up by as much as 1 %, on each of the two hops.
  EXPECT_LE(Hits(request).hits(0).time_left_ms(), 200 * 1.01 * 1.01);
  inbound.Wait();
}

TEST_P(ServerContextTest, DeadlineEndsABackoff) {
  OnwardServer middle(style(), NewChannel(LongBackoff()));
  const EchoRequest request = FailingRequest(-1);
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  EchoResponse response;
  const auto started = std::chrono::steady_clock::now();
  RunningCall inbound = Start(CallStyle::kCallback, middle.channel(),
                              EchoMethod::kUnary, &context, request, &response);
  middle.TakeOutbound();
  EXPECT_LT(Milliseconds(middle.ended_at() - started),
            200 + 100 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
  inbound.Wait();
}

// The parent is no obstacle to retries.
TEST_P(ServerContextTest, OutboundCallIsRetried) {
  OnwardServer middle(style(), NewChannel(RetryConfig()));
  const EchoRequest request = FailingRequest(2);
  EchoResponse response;
  grpc::ClientContext context;
  SetDeadline(&context, seconds(10));
  const CallResult result =
      test::Call(CallStyle::kSync, middle.channel(), EchoMethod::kUnary,
                 &context, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(response.hit(), 3);
  const HitsResponse hits = Hits(request);
  for (const Observation& hit : hits.hits()) {
    EXPECT_GT(hit.time_left_ms(), 5000);
    // grpc-timeout is rounded up by as much as 1 %.
    EXPECT_LE(hit.time_left_ms(), 10101);
  }
}

INSTANTIATE_TEST_SUITE_P(, ServerContextTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

// The settings of the caller's context that gRPC keeps private hold on every
// attempt: wait_for_ready and the authority.

#include <thread>

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

grpc::ChannelArguments QuickReconnect() {
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return args;
}

class ContextTest : public WayTest {
 protected:
  // Adds a breaker to what is tested.
  Config WithBreaker(Config config) {
    config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
    return config;
  }
  std::shared_ptr<grpc::Channel> QuickChannel(
      const std::shared_ptr<Resilience>& resilience) {
    return CreateChannel(resilience, own_->target(),
                         grpc::InsecureChannelCredentials(), QuickReconnect());
  }

  std::unique_ptr<BackendProcess> own_ = BackendProcess::Start(BackendPath());
};

// A21. The server comes later than the call.
TEST_P(ContextTest, WaitForReadyWaitsForTheServer) {
  own_->Kill();
  const auto resilience = MakeResilience(WithBreaker(RetryConfig()));
  const auto channel = QuickChannel(resilience);
  const EchoRequest request = NewRequest();
  EchoResponse response;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  SetDeadline(&context, milliseconds(5000));
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(call.done());
  own_->Restart();
  const CallResult result = call.Wait();
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(own_->Hits(request.key()).count(), 1);
  const auto breaker = resilience->FindBreaker(own_->target());
  ASSERT_TRUE(breaker.has_value());
  EXPECT_EQ(breaker->state, State::kClosed);
  EXPECT_EQ(breaker->tokens, 16);
}

// A21. Without it the call fails at once and is retried.
TEST_P(ContextTest, WithoutWaitForReadyAttemptsFailAtOnce) {
  own_->Kill();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(5000));
  EchoResponse response;
  const CallResult result =
      Call(QuickChannel(MakeResilience(RetryConfig())), EchoMethod::kIdempotent,
           &context, NewRequest(), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_LT(Milliseconds(result.elapsed), 1000 * TimeFactor());
}

// A21. The later attempts wait as well.
TEST_P(ContextTest, LaterAttemptsWaitForReadyToo) {
  Config config = RetryConfig(2);
  SetBackoff(&config.DefaultMethod().retry, milliseconds(100));
  const auto channel = QuickChannel(MakeResilience(std::move(config)));
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_by_attempt_header(true);
  EchoResponse response;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  SetDeadline(&context, milliseconds(5000));
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  std::this_thread::sleep_for(milliseconds(50));
  own_->Kill();
  std::this_thread::sleep_for(milliseconds(150));
  own_->Restart();
  const CallResult result = call.Wait();
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(Seen(response.observed(), "grpc-previous-rpc-attempts"),
              ElementsAre("1"));
}

TEST_P(ContextTest, AuthorityHoldsOnEveryAttempt) {
  const EchoRequest request = FailingRequest(2);
  grpc::ClientContext context;
  context.set_authority("other.example");
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, &context,
                   request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(3));
  for (const Observation& hit : hits.hits()) {
    EXPECT_EQ(hit.authority(), "other.example");
  }
}

TEST_P(ContextTest, ChannelsAuthorityHoldsOnEveryAttempt) {
  const EchoRequest request = FailingRequest(1);
  grpc::ChannelArguments args;
  args.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "channel.example");
  EXPECT_TRUE(
      Call(CreateChannel(MakeResilience(RetryConfig()), backend().target(),
                         grpc::InsecureChannelCredentials(), args),
           EchoMethod::kIdempotent, request)
          .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_EQ(hits.hits(0).authority(), "channel.example");
  EXPECT_EQ(hits.hits(1).authority(), "channel.example");
}

INSTANTIATE_TEST_SUITE_P(, ContextTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

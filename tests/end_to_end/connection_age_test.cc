// C12: a server that closes its connections in good order (GOAWAY) loses no idempotent
// call. With gRPC's own retries off, a stream that meets the GOAWAY on its way out is a
// failed attempt; with them on, gRPC sends it again by itself, and nobody hears of it.

#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

class ConnectionAgeTest : public StyleTest {
 protected:
  static void SetUpTestSuite() {
    restless_ =
        BackendProcess::Start(BackendPath(), {"--max-connection-age-ms=30"});
  }
  static void TearDownTestSuite() { restless_.reset(); }
  inline static std::unique_ptr<BackendProcess> restless_;
};

TEST_P(ConnectionAgeTest, ManyCallsAcrossManyConnections) {
  Config config = RetryConfig();
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  const auto resilience = MakeResilience(std::move(config));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = CreateChannel(resilience, restless_->target(),
                                     grpc::InsecureChannelCredentials());
  EchoRequest request = NewRequest();
  request.mutable_script()->set_by_attempt_header(true);
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) {
    const CallResult result = Call(channel, EchoMethod::kIdempotent, request);
    ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  }
  EXPECT_LE(log->attempts().size(), kCalls + 5u);
  EXPECT_EQ(resilience->FindBreaker(restless_->target())->state,
            State::kClosed);
}

// What gRPC sends again by itself is no attempt of ours and no failure.
TEST_P(ConnectionAgeTest, WhatGrpcSendsAgainIsNotSeen) {
  Config config = RetryConfig();
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  config.DefaultTarget().breaker.failure_rate_threshold = 1.0;
  config.DefaultTarget().breaker.window_calls = 1000;
  const auto resilience = MakeResilience(std::move(config));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 1);
  const auto channel = CreateChannel(resilience, restless_->target(),
                                     grpc::InsecureChannelCredentials(), args);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_by_attempt_header(true);
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) {
    // Not idempotent: a failure would be the caller's.
    const CallResult result = Call(channel, EchoMethod::kUnary, request);
    ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  }
  EXPECT_EQ(log->attempts().size(), static_cast<std::size_t>(kCalls));
  EXPECT_EQ(resilience->FindBreaker(restless_->target())->window_failures, 0);
}

INSTANTIATE_TEST_SUITE_P(, ConnectionAgeTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

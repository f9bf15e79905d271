// What a method's policy says holds for its streams as it does for unary calls.

#include "grpc_resilience/testing/recording_observer.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StreamPolicyTest : public StreamTest {
 protected:
  static std::vector<std::string> SeenOf(const HitsResponse& hits,
                                         const std::string& key) {
    std::vector<std::string> values;
    for (const Observation& hit : hits.hits()) {
      for (const std::string& value : Seen(hit, key)) values.push_back(value);
    }
    return values;
  }
  std::vector<bool> CorkedOrNot() const {
    if (kind() == StreamKind::kServer) return {false};
    return {false, true};
  }
};

// Hedging is for unary calls; a stream of the method is retried as it says.
TEST_P(StreamPolicyTest, IsRetriedNotHedged) {
  for (const int max_attempts : {1, 3}) {
    Config config = StreamRetryConfig(max_attempts);
    SetBackoff(&config.DefaultMethod().retry, milliseconds(50));
    config.DefaultMethod().timeout = seconds(30);
    config.DefaultMethod().hedging.emplace().max_hedged_attempts = 6;
    const EchoRequest request = FailingStream(-1);
    const StreamResult result = Run(NewChannel(std::move(config)), request);
    EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(Hits(request).count(), max_attempts);
    EXPECT_GE(Milliseconds(result.elapsed), (max_attempts - 1) * 45);
  }
}

TEST_P(StreamPolicyTest, TimeoutEndsTheStream) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().timeout = milliseconds(200);
  EchoRequest request = NewStreamRequest();
  request.mutable_script()->set_hang_times(-1);
  const StreamResult result = Run(NewChannel(std::move(config)), request);
  EXPECT_EQ(result.code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(Milliseconds(result.elapsed), 195);
  EXPECT_LT(Milliseconds(result.elapsed), 2000 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(StreamPolicyTest, LimitOfEveryAttemptIsNamedAtTheEnd) {
  Config config = StreamRetryConfig(2);
  config.DefaultMethod().retry.per_attempt_timeout = milliseconds(100);
  EchoRequest request = NewStreamRequest();
  request.mutable_script()->set_hang_times(-1);
  const StreamResult result = Run(NewChannel(std::move(config)), request);
  EXPECT_EQ(result.code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(), HasSubstr("100"));
  EXPECT_THAT(result.status.error_message(), HasSubstr("2"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("2"));
  EXPECT_EQ(Hits(request).count(), 2);
}

// Later attempts are told what is left of the caller's time.
TEST_P(StreamPolicyTest, TimeLeftShrinks) {
  Config config = StreamRetryConfig();
  SetBackoff(&config.DefaultMethod().retry, milliseconds(500));
  const EchoRequest request = FailingStream(2);
  grpc::ClientContext context;
  SetDeadline(&context, seconds(4));
  ExpectWhole(Run(NewChannel(std::move(config)), &context, request), request,
              /*hit=*/3);
  const HitsResponse hits = Hits(request);
  for (int i = 0; i < hits.hits_size(); ++i) {
    // grpc-timeout is rounded up by as much as 1 %.
    EXPECT_LE(hits.hits(i).time_left_ms(), (4000 - i * 450) * 1.01);
    EXPECT_GT(hits.hits(i).time_left_ms(), 1000);
  }
}

TEST_P(StreamPolicyTest, IdempotencyKeyIsTheSameOnAllAttempts) {
  for (const bool corked : CorkedOrNot()) {
    Config config = StreamRetryConfig();
    config.DefaultMethod().retry.idempotency_key_header = "idempotency-key";
    const EchoRequest request = FailingStream(2);
    Options options;
    options.corked = corked;
    ExpectWhole(Run(NewChannel(std::move(config)), request, options), request,
                /*hit=*/3);
    const auto keys = SeenOf(Hits(request), "idempotency-key");
    ASSERT_THAT(keys, SizeIs(3));
    EXPECT_THAT(keys[0], testing::Not(IsEmpty()));
    EXPECT_THAT(keys, Each(keys[0]));
  }
}

// Only the library says which attempt it is.
TEST_P(StreamPolicyTest, CallersAttemptNumberIsDropped) {
  for (const int max_attempts : {1, 2}) {
    for (const bool corked : CorkedOrNot()) {
      const auto channel = NewChannel(StreamRetryConfig(max_attempts));
      const EchoRequest request = NewStreamRequest();
      grpc::ClientContext context;
      context.AddMetadata("grpc-previous-rpc-attempts", "7");
      Options options;
      options.corked = corked;
      ExpectWhole(Run(channel, &context, request, options), request, 1);
      EXPECT_THAT(SeenOf(Hits(request), "grpc-previous-rpc-attempts"),
                  IsEmpty());
    }
  }
}

TEST_P(StreamPolicyTest, PushbackReplacesTheBackoff) {
  Config config = StreamRetryConfig();
  SetBackoff(&config.DefaultMethod().retry, seconds(50));
  EchoRequest request = FailingStream(1);
  request.mutable_script()->set_pushback_ms("150");
  const StreamResult result = Run(NewChannel(std::move(config)), request);
  ExpectWhole(result, request, /*hit=*/2);
  EXPECT_GE(Milliseconds(result.elapsed), 145);
  EXPECT_LT(Milliseconds(result.elapsed), 10000 * TimeFactor());
}

// The token bucket is on by default; with another trip rule it is the budget alone.
TEST_P(StreamPolicyTest, BudgetEndsRetries) {
  Config config = StreamRetryConfig();
  config.DefaultTarget().breaker = BreakerPolicy();
  config.DefaultTarget().breaker.consecutive_failures = 100000;
  config.DefaultTarget().throttle.limits_retries = true;
  const auto channel = NewChannel(std::move(config));
  std::vector<std::string> reasons;
  for (int i = 0; i < 20 && reasons.empty(); ++i) {
    const StreamResult result = Run(channel, FailingStream(-1));
    EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
    for (const std::string& reason :
         result.Trailing("grpc-resilience-reason")) {
      if (reason == "BUDGET_EXHAUSTED") reasons.push_back(reason);
    }
  }
  EXPECT_THAT(reasons, SizeIs(1));
}

// A message that gRPC refuses for its size says nothing about the target.
TEST_P(StreamPolicyTest, TooLongAMessageIsNotTriedAgain) {
  if (kind() == StreamKind::kServer) return;
  Config config = StreamRetryConfig();
  config.DefaultMethod().retry.retryable_status_codes = {
      StatusCode::UNAVAILABLE, StatusCode::RESOURCE_EXHAUSTED};
  const auto resilience = MakeResilience(std::move(config));
  grpc::ChannelArguments args;
  args.SetMaxSendMessageSize(10000);
  const auto channel = CreateChannel(resilience, backend().target(),
                                     grpc::InsecureChannelCredentials(), args);
  EchoRequest request = NewStreamRequest();
  request.set_data(std::string(20000, 'x'));
  const StreamResult result = Run(channel, request);
  EXPECT_EQ(result.code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LE(Hits(request).count(), 1);
}

INSTANTIATE_TEST_SUITE_P(, StreamPolicyTest, AllStreams(), StreamName);

}  // namespace
}  // namespace grpc_resilience::test

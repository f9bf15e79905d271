// The breaker on streams: asked at the start, told once for each attempt.

#include "grpc_resilience/rpc/v1/status.pb.h"
#include "grpc_resilience/testing/recording_observer.h"
#include "support/counting_interceptor.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StreamBreakerTest : public StreamTest {
 protected:
  // Opens at the second failure in a row.
  static Config QuickBreaker(Config config,
                             Duration open_duration = std::chrono::minutes(1)) {
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.mode = BreakerMode::kEnabled;
    breaker.failure_rate_threshold = 1.0;
    breaker.window_calls = 2;
    breaker.minimum_calls = 2;
    breaker.half_open_calls = 1;
    breaker.open_duration = open_duration;
    return config;
  }
  static BreakerSnapshot Snapshot(const Resilience& resilience) {
    return resilience.FindBreaker(backend().target()).value();
  }
  // Through another method, so that it looks the same for every kind of stream.
  static void Open(const std::shared_ptr<grpc::Channel>& channel) {
    for (int i = 0; i < 2; ++i) {
      grpc::ClientContext context;
      EchoResponse response;
      EchoRequest request = FailingRequest(-1);
      ASSERT_FALSE(
          Echo::NewStub(channel)->Unary(&context, request, &response).ok());
    }
  }
  void ExpectRejected(const StreamResult& result, const EchoRequest& request) {
    EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
    EXPECT_THAT(result.status.error_message(), HasSubstr("is open"));
    EXPECT_THAT(result.responses, IsEmpty());
    EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
                ElementsAre("BREAKER_OPEN"));
    EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("0"));
    EXPECT_LT(Milliseconds(result.elapsed), 500 * TimeFactor());
    EXPECT_EQ(Hits(request).count(), 0);
    rpc::v1::Status details;
    ASSERT_TRUE(details.ParseFromString(result.status.error_details()));
    EXPECT_EQ(details.details_size(), 2);
    EXPECT_EQ(details.code(), StatusCode::UNAVAILABLE);
  }
  /// A stream that has delivered one message and goes on until it is cancelled.
  EchoRequest LongStream() {
    EchoRequest request = NewStreamRequest(1000);
    request.mutable_script()->set_response_interval_ms(50);
    return request;
  }
};

// A stream that isn't retried goes through untouched, and counts once.
TEST_P(StreamBreakerTest, UntouchedStreamsCountOnceEach) {
  const auto resilience = MakeResilience(QuickBreaker(RetryConfig(1)));
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto inner = std::make_shared<InterceptorLog>();
  InterceptorFactories factories;
  factories.push_back(std::make_unique<LoggingFactory>(inner));
  const auto channel = NewChannel(resilience, std::move(factories));
  const EchoRequest good = NewStreamRequest();
  ExpectWhole(Run(channel, good), good, /*hit=*/1);
  EXPECT_EQ(Snapshot(*resilience).window_calls, 1);
  EXPECT_EQ(Snapshot(*resilience).window_failures, 0);
  EXPECT_EQ(inner->rpcs(), 1);
  const EchoRequest bad = FailingStream(-1);
  const StreamResult result = Run(channel, bad);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"), IsEmpty());
  EXPECT_EQ(Snapshot(*resilience).window_calls, 2);
  EXPECT_EQ(Snapshot(*resilience).window_failures, 1);
  EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
  Run(channel, FailingStream(-1));
  EXPECT_EQ(Snapshot(*resilience).state, State::kOpen);
  ASSERT_THAT(observer->calls(), SizeIs(3));
  EXPECT_EQ(observer->calls()[0].code, StatusCode::OK);
  EXPECT_EQ(observer->calls()[1].code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(observer->calls()[1].attempts, 1);
  EXPECT_EQ(observer->calls()[1].method, method());
  EXPECT_THAT(observer->attempts(), SizeIs(3));
}

// A35. One outcome for each attempt.
TEST_P(StreamBreakerTest, RelayedAttemptsCountOnceEach) {
  Config config = QuickBreaker(StreamRetryConfig());
  config.DefaultTarget().breaker.window_calls = 20;
  config.DefaultTarget().breaker.minimum_calls = 20;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(2);
  ExpectWhole(Run(channel, request), request, /*hit=*/3);
  EXPECT_EQ(Snapshot(*resilience).window_calls, 3);
  EXPECT_EQ(Snapshot(*resilience).window_failures, 2);
}

// Every batch of a rejected stream is answered here and at once, in both ways.
TEST_P(StreamBreakerTest, OpenBreakerRejects) {
  for (const bool retried : {false, true}) {
    const auto resilience = MakeResilience(
        QuickBreaker(retried ? StreamRetryConfig() : RetryConfig(1)));
    const auto observer = std::make_shared<RecordingObserver>();
    const auto channel = NewChannel(resilience);
    Open(channel);
    const auto before = Snapshot(*resilience).rejected;
    resilience->AddObserver(observer);
    for (const bool corked : {false, true}) {
      Options options;
      options.corked = corked && kind() != StreamKind::kServer;
      const EchoRequest request = NewStreamRequest();
      ExpectRejected(Run(channel, request, options), request);
    }
    ASSERT_THAT(observer->calls(), SizeIs(2));
    EXPECT_EQ(observer->calls()[0].reason, StopReason::kBreakerOpen);
    EXPECT_EQ(observer->calls()[0].attempts, 0);
    EXPECT_THAT(observer->attempts(), IsEmpty());
    EXPECT_EQ(Snapshot(*resilience).rejected, before + 2);
  }
}

// A breaker that opens between two attempts ends the retrying.
TEST_P(StreamBreakerTest, OpeningEndsTheRetries) {
  const auto resilience = MakeResilience(QuickBreaker(StreamRetryConfig(5)));
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(-1);
  const StreamResult result = Run(channel, request);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("2"));
  EXPECT_EQ(Hits(request).count(), 2);
}

// Cancelled and abandoned streams say nothing of the server, and keep no permit.
TEST_P(StreamBreakerTest, CancelledStreamsDontCount) {
  for (const bool retried : {false, true}) {
    const auto resilience = MakeResilience(
        QuickBreaker(retried ? StreamRetryConfig() : RetryConfig(1)));
    const auto observer = std::make_shared<RecordingObserver>();
    resilience->AddObserver(observer);
    const auto channel = NewChannel(resilience);
    for (const bool finish : {false, true}) {
      EchoRequest request = NewStreamRequest();
      request.mutable_script()->set_hang_times(-1);
      grpc::ClientContext context;
      auto stream = StartStream(shape(), channel, &context, request);
      if (kind() != StreamKind::kServer) stream->Write(request);
      if (kind() == StreamKind::kClient) stream->WritesDone();
      WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
      context.TryCancel();
      if (finish) {
        EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
      }
    }
    WaitUntil([&] { return observer->calls().size() == 2; }, "both ends");
    EXPECT_EQ(observer->calls()[0].reason, StopReason::kCancelled);
    EXPECT_EQ(observer->calls()[1].reason, StopReason::kCancelled);
    EXPECT_EQ(Snapshot(*resilience).window_calls, 0);
  }
}

// A stream that goes on for hours must not keep the breaker half-open.
TEST_P(StreamBreakerTest, ALongProbeHoldsNothingUp) {
  if (kind() == StreamKind::kClient) return;  // no message before its end
  for (const bool retried : {false, true}) {
    const auto resilience = MakeResilience(QuickBreaker(
        retried ? StreamRetryConfig() : RetryConfig(1), milliseconds(50)));
    const auto channel = NewChannel(resilience);
    Open(channel);
    WaitUntil([&] { return Snapshot(*resilience).probe_ready; }, "open time");
    const EchoRequest request = LongStream();
    grpc::ClientContext context;
    auto stream = StartStream(shape(), channel, &context, request);
    if (kind() == StreamKind::kBidi) {
      ASSERT_TRUE(stream->Write(request));
    }
    EchoResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
  }
}

// A stream is as slow as its first message, and hung ones open the breaker while
// they hang.
TEST_P(StreamBreakerTest, SlowIsTheFirstMessage) {
  if (kind() == StreamKind::kClient) return;
  for (const bool retried : {false, true}) {
    Config config = retried ? StreamRetryConfig() : RetryConfig(1);
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.mode = BreakerMode::kEnabled;
    breaker.slow_call_rate_threshold = 1.0;
    breaker.slow_call_duration =
        std::chrono::duration_cast<milliseconds>(Scaled(milliseconds(300)));
    breaker.window_calls = breaker.minimum_calls = 2;
    breaker.open_duration = std::chrono::minutes(1);
    const auto resilience = MakeResilience(std::move(config));
    const auto channel = NewChannel(resilience);
    for (int i = 0; i < 2; ++i) {
      EchoRequest request = NewStreamRequest(2);
      request.mutable_script()->set_response_interval_ms(
          static_cast<int>(Milliseconds(Scaled(milliseconds(400)))));
      EXPECT_TRUE(Run(channel, request).status.ok());
    }
    EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
    EchoRequest hung = NewStreamRequest();
    hung.mutable_script()->set_hang_times(-1);
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::unique_ptr<TestStream>> streams;
    for (int i = 0; i < 2; ++i) {
      contexts.push_back(std::make_unique<grpc::ClientContext>());
      streams.push_back(
          StartStream(shape(), channel, contexts.back().get(), hung));
      if (kind() == StreamKind::kBidi) streams.back()->Write(hung);
    }
    WaitUntil([&] { return Snapshot(*resilience).state == State::kOpen; },
              "the breaker opens");
    for (const auto& context : contexts) context->TryCancel();
    for (const auto& stream : streams) {
      EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
    }
  }
}

// Where calls count instead of attempts, a stream counts once.
TEST_P(StreamBreakerTest, AStreamCountsOnceWhereCallsCount) {
  Config config = QuickBreaker(StreamRetryConfig());
  config.DefaultTarget().breaker.counts = BreakerCounts::kCalls;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const EchoRequest late = FailingStream(2);
  ExpectWhole(Run(channel, late), late, /*hit=*/3);
  EXPECT_EQ(Snapshot(*resilience).window_calls, 1);
  EXPECT_EQ(Snapshot(*resilience).window_failures, 0);
  Run(channel, FailingStream(-1));
  EXPECT_EQ(Snapshot(*resilience).window_calls, 2);
  EXPECT_EQ(Snapshot(*resilience).window_failures, 1);
}

// A probe that is never answered is given up on, as one of a unary call is.
TEST_P(StreamBreakerTest, ASilentProbeGivesItsSlotBack) {
  for (const int max_attempts : {1, 3}) {
    Config config =
        QuickBreaker(StreamRetryConfig(max_attempts), milliseconds(20));
    config.DefaultTarget().breaker.half_open_max_wait = milliseconds(100);
    const auto resilience = MakeResilience(std::move(config));
    const auto channel = NewChannel(resilience);
    Open(channel);
    std::this_thread::sleep_for(milliseconds(40));
    EchoRequest silent = NewStreamRequest();
    silent.mutable_script()->set_hang_times(-1);
    grpc::ClientContext context;
    auto stream = StartStream(shape(), channel, &context, silent);
    if (kind() != StreamKind::kServer) {
      EXPECT_TRUE(stream->Write(silent));
    }
    WaitUntil([&] { return Hits(silent).count() == 1; }, "the probe");
    WaitUntil([&] { return Run(channel, NewStreamRequest()).status.ok(); },
              "another probe");
    EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(Snapshot(*resilience).state, State::kClosed);
  }
}

TEST_P(StreamBreakerTest, BypassedMethodsGoThrough) {
  Config config = QuickBreaker(StreamRetryConfig());
  config.Method(method()).bypass = true;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(-1);
  EXPECT_EQ(Run(channel, request).code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(resilience->Breakers().size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, StreamBreakerTest, AllStreams(), StreamName);

}  // namespace
}  // namespace grpc_resilience::test

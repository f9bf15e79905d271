// What the caller puts on its context, and time, hold for streams as well.

#include <future>

#include "grpc_resilience/call_options.h"
#include "grpc_resilience/server_context.h"
#include "interceptor/call_override.h"
#include "interceptor/timer_thread.h"
#include "support/counting_interceptor.h"
#include "support/middle_server.h"
#include "support/stream_test.h"
#include "support/test_certificate.h"

namespace grpc_resilience::test {
namespace {

using testing::AnyOf;
using testing::ElementsAre;

class StreamContextTest : public StreamTest {
 protected:
  EchoRequest HangingStream(int times = -1) {
    EchoRequest request = NewStreamRequest();
    request.mutable_script()->set_hang_times(times);
    return request;
  }
  static Config LongBackoff() {
    Config config = StreamRetryConfig();
    SetBackoff(&config.DefaultMethod().retry, seconds(60));
    return config;
  }
};

// Trap S3 as well: what is sent at the start is sent once for each attempt.
TEST_P(StreamContextTest, MetadataAndCompressionOnEveryAttempt) {
  const auto channel = NewChannel(StreamRetryConfig());
  EchoRequest request = FailingStream(2);
  request.set_data(std::string(2000, 'z'));
  grpc::ClientContext context;
  context.AddMetadata("k", "one");
  context.AddMetadata("k", "two");
  context.AddMetadata("b-bin", std::string("\0\1\2", 3));
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  context.set_authority("the.authority");
  ExpectWhole(Run(channel, &context, request), request, /*hit=*/3);
  const HitsResponse hits = Hits(request);
  ASSERT_EQ(hits.hits_size(), 3);
  for (const Observation& hit : hits.hits()) {
    EXPECT_THAT(Seen(hit, "k"), ElementsAre("one", "two"));
    EXPECT_THAT(Seen(hit, "b-bin"), ElementsAre(std::string("\0\1\2", 3)));
    EXPECT_EQ(hit.authority(), "the.authority");
    EXPECT_EQ(hit.encoding(), "gzip");
  }
}

TEST_P(StreamContextTest, DeadlineEndsAnAttempt) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = HangingStream();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  const StreamResult result = Run(channel, &context, request);
  EXPECT_EQ(result.code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 200, 150 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_LE(Hits(request).hits(0).time_left_ms(), 202);  // rounded up
}

// A wait that no attempt can follow isn't waited for.
TEST_P(StreamContextTest, DeadlineCutsTheBackoff) {
  const auto channel = NewChannel(LongBackoff());
  const EchoRequest request = FailingStream(-1);
  grpc::ClientContext context;
  SetDeadline(&context, seconds(30));
  const StreamResult result = Run(channel, &context, request);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_LT(Milliseconds(result.elapsed), 5000 * TimeFactor());
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("DEADLINE_WOULD_PASS"));
}

// The limit of an attempt holds up to its first message.
TEST_P(StreamContextTest, AttemptLimitUpToTheFirstMessage) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().retry.per_attempt_timeout =
      std::chrono::duration_cast<milliseconds>(Scaled(milliseconds(400)));
  const auto channel = NewChannel(std::move(config));
  EchoRequest request = HangingStream(/*times=*/1);
  if (kind() == StreamKind::kServer) {
    request.mutable_script()->set_responses(4);
    request.mutable_script()->set_response_interval_ms(
        static_cast<int>(Milliseconds(Scaled(milliseconds(200)))));
  }
  ExpectWhole(Run(channel, request), request, /*hit=*/2);
  WaitUntil([&] { return Hits(request).hits(0).ended_ns() > 0; }, "hit 1 ends");
  EXPECT_TRUE(Hits(request).hits(0).cancelled());
}

TEST_P(StreamContextTest, CallOptionsHold) {
  const auto channel = NewChannel(StreamRetryConfig());
  for (const bool corked : {false, true}) {
    if (corked && kind() == StreamKind::kServer) continue;
    const EchoRequest request = FailingStream(-1);
    grpc::ClientContext context;
    CallOptions options;
    options.max_attempts = 2;
    ASSERT_TRUE(SetCallOptions(options, &context).ok());
    Options run;
    run.corked = corked;
    EXPECT_EQ(Run(channel, &context, request, run).code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(Hits(request).count(), 2);
    EXPECT_THAT(Seen(Hits(request).hits(0), "grpc-resilience-call-options"),
                testing::IsEmpty());
  }
}

// Of a method that would go through untouched.
TEST_P(StreamContextTest, CallOptionsAloneMakeARetry) {
  const auto channel = NewChannel(StreamRetryConfig(1));
  for (const bool corked : {false, true}) {
    if (corked && kind() == StreamKind::kServer) continue;
    const EchoRequest request = FailingStream(1);
    grpc::ClientContext context;
    CallOptions options;
    options.max_attempts = 2;
    ASSERT_TRUE(SetCallOptions(options, &context).ok());
    Options run;
    run.corked = corked;
    ExpectWhole(Run(channel, &context, request, run), request, /*hit=*/2);
  }
}

TEST_P(StreamContextTest, PushbackIsObeyed) {
  const auto channel = NewChannel(StreamRetryConfig());
  EchoRequest request = FailingStream(-1);
  request.mutable_script()->set_pushback_ms("-1");
  const StreamResult result = Run(channel, request);
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("PUSHBACK"));
}

// S14. A retryable failure that is under way doesn't hide the cancellation. S12: no
// timer is left.
TEST_P(StreamContextTest, CancelEndsABackoff) {
  const auto channel = NewChannel(LongBackoff());
  const EchoRequest request = FailingStream(-1);
  grpc::ClientContext context;
  std::thread canceller([&] {
    WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
    std::this_thread::sleep_for(milliseconds(20));
    context.TryCancel();
  });
  const StreamResult result = Run(channel, &context, request);
  canceller.join();
  EXPECT_EQ(result.code(), StatusCode::CANCELLED);
  EXPECT_EQ(Hits(request).count(), 1);
  WaitUntil([] { return internal::TimerThread::OfProcess()->pending() == 0; },
            "no timer left");
}

TEST_P(StreamContextTest, CancelEndsAnAttempt) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = HangingStream();
  grpc::ClientContext context;
  std::thread canceller([&] {
    WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
    context.TryCancel();
  });
  EXPECT_EQ(Run(channel, &context, request).code(), StatusCode::CANCELLED);
  canceller.join();
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(StreamContextTest, CancelledBeforeItBegan) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = NewStreamRequest();
  grpc::ClientContext context;
  context.TryCancel();
  EXPECT_EQ(Run(channel, &context, request).code(), StatusCode::CANCELLED);
  EXPECT_EQ(Hits(request).count(), 0);
}

TEST_P(StreamContextTest, ExpiredBeforeItBegan) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = NewStreamRequest();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(-10));
  EXPECT_EQ(Run(channel, &context, request).code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Hits(request).count(), 0);
}

TEST_P(StreamContextTest, ShutdownEndsABackoff) {
  const auto resilience = MakeResilience(LongBackoff());
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(-1);
  std::thread stopper([&] {
    WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
    resilience->Shutdown();
  });
  const StreamResult result = Run(channel, request);
  stopper.join();
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
}

// Nobody listens at first.
TEST_P(StreamContextTest, WaitForReady) {
  auto late = BackendProcess::Start(BackendPath());
  late->Kill();
  const auto resilience = MakeResilience(StreamRetryConfig());
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  const auto channel = CreateChannel(resilience, late->target(),
                                     grpc::InsecureChannelCredentials(), args);
  late->Restart();
  late->Kill();
  std::promise<StreamResult> result;
  const EchoRequest request = NewStreamRequest();
  std::thread caller([&] {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    result.set_value(Run(channel, &context, request));
  });
  std::this_thread::sleep_for(milliseconds(100));
  late->Restart();
  EXPECT_TRUE(result.get_future().get().status.ok());
  caller.join();
  EXPECT_EQ(late->Hits(request.key()).count(), 1);
}

// Call credentials are asked for every attempt.
class StreamTokens : public grpc::MetadataCredentialsPlugin {
 public:
  explicit StreamTokens(std::atomic<int>* calls) : calls_(calls) {}
  grpc::Status GetMetadata(
      grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
      std::multimap<std::string, std::string>* metadata) override {
    metadata->emplace("token", "T" + std::to_string(++*calls_));
    return grpc::Status::OK;
  }

 private:
  std::atomic<int>* const calls_;
};

TEST_P(StreamContextTest, CredentialsOnEveryAttempt) {
  static const auto tls = BackendProcess::Start(BackendPath(), {"--tls"});
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = kTestCertificate;
  const auto channel = CreateChannel(MakeResilience(StreamRetryConfig()),
                                     tls->target(), grpc::SslCredentials(ssl));
  std::atomic<int> calls{0};
  grpc::ClientContext context;
  context.set_credentials(grpc::MetadataCredentialsFromPlugin(
      std::make_unique<StreamTokens>(&calls)));
  const EchoRequest request = FailingStream(2);
  EXPECT_TRUE(Run(channel, &context, request).status.ok());
  const HitsResponse hits = tls->Hits(request.key());
  ASSERT_EQ(hits.count(), 3);
  EXPECT_THAT(Seen(hits.hits(0), "token"), ElementsAre("T1"));
  EXPECT_THAT(Seen(hits.hits(2), "token"), ElementsAre("T3"));
}

// Interceptors after ours see every attempt, and messages as objects.
TEST_P(StreamContextTest, LaterInterceptorsSeeEveryAttempt) {
  const auto inner = std::make_shared<InterceptorLog>();
  InterceptorFactories factories;
  factories.push_back(std::make_unique<LoggingFactory>(inner));
  factories.push_back(std::make_unique<AddMetadataFactory>("inner", "yes"));
  const auto channel =
      NewChannel(MakeResilience(StreamRetryConfig()), std::move(factories));
  const EchoRequest request = FailingStream(2);
  ExpectWhole(Run(channel, request), request, /*hit=*/3);
  EXPECT_EQ(inner->Count(HookPoint::PRE_SEND_INITIAL_METADATA), 3);
  EXPECT_THAT(Seen(Hits(request).hits(2), "inner"), ElementsAre("yes"));
}

// A factory that makes nothing, and one of ours twice.
TEST_P(StreamContextTest, OddFactoryLists) {
  const auto resilience = MakeResilience(StreamRetryConfig());
  InterceptorFactories factories;
  factories.push_back(std::make_unique<NullFactory>());
  factories.push_back(CreateInterceptorFactory(resilience, backend().target()));
  factories.push_back(std::make_unique<NullFactory>());
  factories.push_back(CreateInterceptorFactory(resilience, backend().target()));
  const auto channel = NewChannelOf(std::move(factories));
  const EchoRequest request = FailingStream(2);
  ExpectWhole(Run(channel, request), request, /*hit=*/3);
}

// S11, S20. The parent's deadline and cancellation, in an attempt and in a backoff;
// at the parent's deadline gRPC says CANCELLED or DEADLINE_EXCEEDED.
TEST_P(StreamContextTest, EndsWithItsParent) {
  for (const bool backoff : {false, true}) {
    for (const bool cancel : {false, true}) {
      const auto onward =
          NewChannel(backoff ? LongBackoff() : StreamRetryConfig());
      const EchoRequest request = backoff ? FailingStream(-1) : HangingStream();
      std::promise<StreamResult> outbound;
      MiddleServer middle(
          [&](grpc::ServerContext* context, const auto&, auto*) {
            const auto child = grpc::ClientContext::FromServerContext(*context);
            outbound.set_value(Run(onward, child.get(), request));
            return grpc::Status::OK;
          });
      grpc::ClientContext context;
      SetDeadline(&context, cancel ? seconds(30) : milliseconds(300));
      EchoResponse response;
      std::thread canceller([&] {
        if (!cancel) return;
        WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
        std::this_thread::sleep_for(milliseconds(20));
        context.TryCancel();
      });
      // At its deadline the server may be the first to know, and answer.
      static_cast<void>(Echo::NewStub(middle.channel())
                            ->Unary(&context, request, &response)
                            .ok());
      canceller.join();
      const StreamResult result = outbound.get_future().get();
      if (cancel) {
        EXPECT_EQ(result.code(), StatusCode::CANCELLED);
      } else {
        EXPECT_THAT(result.code(), AnyOf(StatusCode::DEADLINE_EXCEEDED,
                                         StatusCode::CANCELLED));
      }
      EXPECT_LT(Milliseconds(result.elapsed), 3000 * TimeFactor());
      EXPECT_EQ(Hits(request).count(), 1);
    }
  }
}

// Streams that were opened for a long inbound call and let go of before they sent
// anything leave nothing behind while it lasts.
TEST_P(StreamContextTest, AnIdleStreamLetsGoOfItsParent) {
  if (kind() == StreamKind::kServer) return;
  MiddleServer middle([&](grpc::ServerContext* context, const auto&, auto*) {
    auto resilience = MakeResilience(StreamRetryConfig());
    const std::weak_ptr<Resilience> alive = resilience;
    auto channel = NewChannel(resilience);
    resilience.reset();
    for (int i = 0; i < 20; ++i) {
      const auto child = grpc::ClientContext::FromServerContext(*context);
      StartStream(shape(), channel, child.get(), NewRequest(), true);
    }
    channel.reset();
    WaitUntil([&] { return alive.expired(); }, "nothing is held", seconds(10));
    return grpc::Status::OK;
  });
  grpc::ClientContext context;
  EchoResponse response;
  EXPECT_TRUE(Echo::NewStub(middle.channel())
                  ->Unary(&context, NewRequest(), &response)
                  .ok());
}

TEST_P(StreamContextTest, AServersDeadlineExceededIsRetried) {
  const auto onward = NewChannel(StreamRetryConfig());
  const EchoRequest request =
      FailingStream(1, 0, StatusCode::DEADLINE_EXCEEDED);
  std::promise<StreamResult> outbound;
  MiddleServer middle([&](grpc::ServerContext* context, const auto&, auto*) {
    grpc::ClientContext child;
    Propagate(*context, &child);
    outbound.set_value(Run(onward, &child, request));
    return grpc::Status::OK;
  });
  grpc::ClientContext context;
  SetDeadline(&context, seconds(20));
  EchoResponse response;
  EXPECT_TRUE(Echo::NewStub(middle.channel())
                  ->Unary(&context, request, &response)
                  .ok());
  ExpectWhole(outbound.get_future().get(), request, /*hit=*/2);
}

// A chain of retries is stopped.
TEST_P(StreamContextTest, ChainStop) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = FailingStream(-1);
  grpc::ClientContext context;
  context.AddMetadata(internal::kChainStopKey, "1");  // as Propagate does
  const StreamResult result = Run(channel, &context, request);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("CHAIN_STOP"));
  EXPECT_EQ(Hits(request).count(), 1);
}

INSTANTIATE_TEST_SUITE_P(, StreamContextTest, AllStreams(), StreamName);

}  // namespace
}  // namespace grpc_resilience::test

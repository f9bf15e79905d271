// What goes wrong with streams, each in the forms where it does. The numbers are
// those of a list of traps that were seen in a prototype.

#include <cstdint>

#include "grpc_resilience/call_options.h"
#include "interceptor/timer_thread.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

using testing::AnyOf;

class StreamTrapsTest : public StreamTest {
 protected:
  // Sends one message and reads one; another one waits unread, and the server goes
  // on until it is cancelled.
  std::unique_ptr<TestStream> OneReadOneWaits(
      const std::shared_ptr<grpc::Channel>& channel,
      grpc::ClientContext* context) {
    EchoRequest request = NewStreamRequest(2);
    if (kind() == StreamKind::kServer) {
      request.mutable_script()->set_responses(1000);
      request.mutable_script()->set_response_interval_ms(10);
    }
    auto stream = StartStream(shape(), channel, context, request);
    if (kind() == StreamKind::kBidi) {
      EXPECT_TRUE(stream->Write(request));
      EXPECT_TRUE(stream->Write(request));
    }
    EchoResponse response;
    EXPECT_TRUE(stream->Read(&response));
    std::this_thread::sleep_for(milliseconds(20));
    return stream;
  }
};

// S1. With one message unread nothing of the attempt is under way but its status.
TEST_P(StreamTrapsTest, CancelWithAMessageUnread) {
  if (kind() == StreamKind::kClient) return;
  const auto channel = NewChannel(StreamRetryConfig());
  grpc::ClientContext context;
  auto stream = OneReadOneWaits(channel, &context);
  const auto start = std::chrono::steady_clock::now();
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - start),
            1000 * TimeFactor());
}

TEST_P(StreamTrapsTest, DeadlineWithAMessageUnread) {
  if (kind() == StreamKind::kClient) return;
  const auto channel = NewChannel(StreamRetryConfig());
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(400));
  const auto start = std::chrono::steady_clock::now();
  auto stream = OneReadOneWaits(channel, &context);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(std::chrono::steady_clock::now() - start), 400,
              200 * TimeFactor());
}

TEST_P(StreamTrapsTest, ServerDiesWithAMessageUnread) {
  if (kind() == StreamKind::kClient) return;
  auto mortal = BackendProcess::Start(BackendPath());
  const auto channel =
      CreateChannel(MakeResilience(StreamRetryConfig()), mortal->target(),
                    grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  auto stream = OneReadOneWaits(channel, &context);
  mortal->Kill();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
}

// S1. A server that dies before it has answered, and comes back.
TEST_P(StreamTrapsTest, ServerDiesAndComesBack) {
  auto mortal = BackendProcess::Start(BackendPath());
  Config config = StreamRetryConfig(50);
  SetBackoff(&config.DefaultMethod().retry, milliseconds(100));
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  const auto channel =
      CreateChannel(MakeResilience(std::move(config)), mortal->target(),
                    grpc::InsecureChannelCredentials(), args);
  EchoRequest request = NewStreamRequest();
  request.mutable_script()->set_by_attempt_header(true);
  request.mutable_script()->set_hang_times(1);
  StreamResult result;
  std::thread caller([&] { result = Run(channel, request); });
  // On this thread: the server goes with the thread that started it.
  WaitUntil([&] { return mortal->Hits("").running() == 1; }, "the attempt");
  mortal->Kill();
  mortal->Restart();
  caller.join();
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.responses.size(), kind() == StreamKind::kClient ? 1u : 3u);
}

// S2, S7, S8, S19. The caller lets go of stream, context, stub and channel at once,
// at any moment: finished, in an attempt, in a backoff, before the first write.
TEST_P(StreamTrapsTest, EverythingIsDestroyedAtOnce) {
  enum class When { kFinished, kAttempt, kBackoff, kCorked };
  const auto resilience = MakeResilience([] {
    Config config = StreamRetryConfig();
    SetBackoff(&config.DefaultMethod().retry, milliseconds(5));
    return config;
  }());
  std::vector<EchoRequest> requests;
  for (int i = 0; i < 40; ++i) {
    const When when = static_cast<When>(i % 4);
    auto channel = NewChannel(resilience);
    auto context = std::make_unique<grpc::ClientContext>();
    EchoRequest request =
        when == When::kBackoff ? FailingStream(-1) : NewStreamRequest();
    if (when == When::kAttempt) request.mutable_script()->set_hang_times(-1);
    requests.push_back(request);
    const bool corked = when == When::kCorked && kind() != StreamKind::kServer;
    auto stream = StartStream(shape(), channel, context.get(), request, corked);
    if (corked) {
      stream.reset();
      context.reset();
      channel.reset();
      continue;
    }
    if (kind() != StreamKind::kServer) {
      stream->Write(request);
      if (when == When::kFinished) stream->WritesDone();
    }
    if (when == When::kFinished) {
      EchoResponse response;
      while (kind() != StreamKind::kClient && stream->Read(&response)) {
      }
      EXPECT_TRUE(stream->Finish().ok());
    } else if (i >= 20) {
      WaitUntil([&] { return Hits(request).count() > 0; }, "the hit");
    }
    channel.reset();
    stream.reset();
    context.reset();
  }
  // Nothing goes on afterwards: the server hears of every end, and no timer waits.
  WaitUntil([] { return backend().Hits("").running() == 0; },
            "the server is told");
  WaitUntil([] { return internal::TimerThread::OfProcess()->pending() == 0; },
            "no timer left");
  EXPECT_EQ(ReplayBytesInUse(), 0);
}

// S5. A write to a stream that is over fails.
TEST_P(StreamTrapsTest, WritesFailWhenItIsOver) {
  if (kind() == StreamKind::kServer) return;
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = FailingStream(-1);
  grpc::ClientContext context;
  auto stream = StartStream(shape(), channel, &context, request);
  int written = 0;
  while (stream->Write(request)) {
    ASSERT_LT(++written, 100000);
  }
  EXPECT_FALSE(stream->Write(request));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
}

// S6. An attempt that fails before the caller's passes are there.
TEST_P(StreamTrapsTest, QuickFailuresAreRetriedEveryTime) {
  const auto channel = NewChannel(StreamRetryConfig());
  for (int i = 0; i < 30; ++i) {
    const EchoRequest request = FailingStream(2);
    ExpectWhole(Run(channel, request), request, /*hit=*/3);
  }
}

// S10. Nothing was ever sent, so nothing of gRPC's watches the time.
TEST_P(StreamTrapsTest, CorkedAndNeverWritten) {
  if (kind() == StreamKind::kServer) return;
  enum class End { kDeadline, kCancel, kTimeoutOfThePolicy, kTimeoutOfTheCall };
  for (const End end : {End::kDeadline, End::kCancel, End::kTimeoutOfThePolicy,
                        End::kTimeoutOfTheCall}) {
    Config config = StreamRetryConfig();
    if (end == End::kTimeoutOfThePolicy) {
      config.DefaultMethod().timeout = milliseconds(200);
    }
    const auto channel = NewChannel(std::move(config));
    grpc::ClientContext context;
    if (end == End::kDeadline) SetDeadline(&context, milliseconds(200));
    if (end == End::kTimeoutOfTheCall) {
      CallOptions options;
      options.timeout = milliseconds(200);
      ASSERT_TRUE(SetCallOptions(options, &context).ok());
    }
    const auto start = std::chrono::steady_clock::now();
    auto stream =
        StartStream(shape(), channel, &context, NewRequest(), /*corked=*/true);
    std::thread canceller([&] {
      if (end != End::kCancel) return;
      std::this_thread::sleep_for(milliseconds(100));
      context.TryCancel();
    });
    EXPECT_EQ(stream->Finish().error_code(),
              end == End::kCancel ? StatusCode::CANCELLED
                                  : StatusCode::DEADLINE_EXCEEDED);
    canceller.join();
    EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - start),
              2000 * TimeFactor());
  }
}

// S13. Whenever the deadline comes, the end comes with it and is one of three.
TEST_P(StreamTrapsTest, AnyDeadline) {
  Config config = StreamRetryConfig(100);
  SetBackoff(&config.DefaultMethod().retry, milliseconds(1));
  const auto channel = NewChannel(std::move(config));
  for (int time = 1; time <= 40; time += 3) {
    const EchoRequest request = FailingStream(-1);
    grpc::ClientContext context;
    SetDeadline(&context, milliseconds(time));
    const StreamResult result = Run(channel, &context, request);
    EXPECT_THAT(result.code(),
                AnyOf(StatusCode::DEADLINE_EXCEEDED, StatusCode::UNAVAILABLE));
    if (result.code() == StatusCode::UNAVAILABLE) {
      // Nothing is reported of a first attempt that ended at the deadline.
      EXPECT_THAT(
          result.Trailing("grpc-resilience-reason"),
          testing::Each(AnyOf("DEADLINE_WOULD_PASS", "DEADLINE_EXCEEDED")));
    }
    EXPECT_LT(Milliseconds(result.elapsed), time + 200 * TimeFactor());
  }
}

// S14. Cancelled at any moment of a run of failures, it is CANCELLED or what the
// retries came to before.
TEST_P(StreamTrapsTest, CancelAtAnyMoment) {
  const auto channel = NewChannel(StreamRetryConfig(1000));
  for (int i = 0; i < 30; ++i) {
    const EchoRequest request = FailingStream(-1);
    grpc::ClientContext context;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(400 * i));
      context.TryCancel();
    });
    EXPECT_EQ(Run(channel, &context, request).code(), StatusCode::CANCELLED);
    canceller.join();
  }
}

// S16. What waits to be read is gone with a cancellation.
TEST_P(StreamTrapsTest, NothingIsReadAfterACancel) {
  if (kind() == StreamKind::kClient) return;
  const auto channel = NewChannel(StreamRetryConfig());
  grpc::ClientContext context;
  auto stream = OneReadOneWaits(channel, &context);
  context.TryCancel();
  EchoResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
}

// A corked stream that is opened by a reader and a writer at once.
TEST_P(StreamTrapsTest, ReaderAndWriterOpenACorkedStream) {
  if (kind() != StreamKind::kBidi || is_reactor()) return;
  if (form() != StreamForm::kSync) return;  // CQ users have one thread a call
  const auto channel = NewChannel(StreamRetryConfig());
  for (int i = 0; i < 100; ++i) {
    const EchoRequest request = FailingStream(i % 3);
    grpc::ClientContext context;
    auto stream = StartStream(shape(), channel, &context, request, true);
    std::vector<int> hits;
    std::thread reader([&] {
      EchoResponse response;
      while (stream->Read(&response)) hits.push_back(response.hit());
    });
    for (const EchoRequest& message : Messages(request, 10)) {
      EXPECT_TRUE(stream->Write(message));
    }
    stream->WritesDone();
    reader.join();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(hits, std::vector<int>(10, i % 3 + 1));
  }
}

// Reads and writes from two threads, through retries.
TEST_P(StreamTrapsTest, ReaderAndWriterThreads) {
  if (kind() != StreamKind::kBidi) return;
  const auto channel = NewChannel(StreamRetryConfig());
  for (int i = 0; i < 20; ++i) {
    const EchoRequest request = FailingStream(i % 3);
    const auto messages = Messages(request, 50);
    grpc::ClientContext context;
    auto stream = StartStream(shape(), channel, &context, request);
    std::vector<std::string> items;
    std::thread reader([&] {
      EchoResponse response;
      while (stream->Read(&response)) items.push_back(response.items(0));
    });
    for (const EchoRequest& message : messages) {
      EXPECT_TRUE(stream->Write(message));
    }
    stream->WritesDone();
    reader.join();
    EXPECT_TRUE(stream->Finish().ok());
    ASSERT_EQ(items.size(), 50u);
    for (std::size_t n = 0; n < items.size(); ++n) {
      EXPECT_EQ(items[n], messages[n].payload(0));
    }
    EXPECT_EQ(Hits(request).hits(i % 3).request_hash(), HashOf(messages));
  }
}

INSTANTIATE_TEST_SUITE_P(, StreamTrapsTest, AllStreams(), StreamName);

// S18. A completion queue that is shut down during a backoff gives every tag back.
using StreamQueueTest = StreamTestBase;
TEST_F(StreamQueueTest, ShutDownDuringABackoff) {
  Config config = StreamRetryConfig();
  SetBackoff(&config.DefaultMethod().retry, milliseconds(200));
  const auto channel = NewChannel(std::move(config));
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_responses(1);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  EchoResponse response;
  grpc::Status status;
  const auto stub = Echo::NewStub(channel);
  auto stream = stub->PrepareAsyncServerStream(&context, request, &queue);
  stream->StartCall(&response);
  stream->Read(&response, &context);
  stream->Finish(&status, &status);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the first attempt");
  queue.Shutdown();
  int tags = 0;
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) ++tags;
  EXPECT_EQ(tags, 3);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(Hits(request).count(), 2);
}

// A reactor that deletes its context and itself in OnDone, with the last reference
// to the channel.
class SelfDeleting : public grpc::ClientReadReactor<EchoResponse> {
 public:
  SelfDeleting(std::shared_ptr<grpc::Channel> channel, EchoRequest request,
               std::atomic<int>* messages, std::atomic<int>* done)
      : request_(std::move(request)), messages_(messages), done_(done) {
    Echo::NewStub(channel)->async()->ServerStream(&context_, &request_, this);
    // The caller keeps it: gRPC can't lose its last reference in a reaction.
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    ++*messages_;
    StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override {
    std::atomic<int>* done = done_;
    delete this;
    ++*done;
  }

 private:
  grpc::ClientContext context_;
  const EchoRequest request_;
  EchoResponse response_;
  std::atomic<int>* const messages_;
  std::atomic<int>* const done_;
};

TEST_F(StreamQueueTest, ReactorsThatDeleteThemselves) {
  const auto resilience = MakeResilience(StreamRetryConfig());
  const auto channel = NewChannel(resilience);
  std::atomic<int> messages{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) {
    EchoRequest request = FailingRequest(i % 3);
    request.mutable_script()->set_responses(5);
    new SelfDeleting(channel, request, &messages, &done);
  }
  WaitUntil([&] { return done == 100; }, "all are done");
  EXPECT_EQ(messages, 500);
  WaitUntil([] { return internal::TimerThread::OfProcess()->pending() == 0; },
            "no timer left");
}

}  // namespace
}  // namespace grpc_resilience::test

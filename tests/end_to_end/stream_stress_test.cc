// Everything at random and at once: forms, kinds, faults, cancellations, deadlines,
// streams that are let go of.

#include <atomic>
#include <cstdlib>
#include <random>

#include "grpc_resilience/observer.h"
#include "interceptor/timer_thread.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

class Counts : public CallObserver {
 public:
  void OnAttemptEnd(const AttemptEvent&) override { ++attempts; }
  void OnCallEnd(const CallEvent&) override { ++calls; }
  std::atomic<int> attempts{0};
  std::atomic<int> calls{0};
};

class StreamStressTest : public StreamTestBase {
 protected:
  StreamStressTest() : StreamTestBase(seconds(300)) {}

  // A stream whose end is known: `failures` attempts fail before its first message,
  // the next one is good. Byte for byte, in order, and with exactly so many hits.
  static void Whole(StreamShape shape,
                    const std::shared_ptr<grpc::Channel>& channel,
                    const EchoRequest& request, int messages, int failures,
                    const Options& options) {
    grpc::ClientContext context;
    const StreamResult result = Run(shape, channel, &context, request, options);
    ASSERT_TRUE(result.status.ok())
        << ToString(shape.form) << ToString(shape.kind) << " "
        << result.status.error_code() << " " << result.status.error_message();
    std::vector<std::string> items;
    for (const EchoResponse& response : result.responses) {
      ASSERT_EQ(response.hit(), failures + 1);
      items.insert(items.end(), response.items().begin(),
                   response.items().end());
    }
    ASSERT_EQ(items.size(), static_cast<std::size_t>(messages));
    const auto sent = Messages(request, messages);
    for (int i = 0; i < messages; ++i) {
      ASSERT_EQ(items[i], shape.kind == StreamKind::kServer
                              ? std::to_string(i)
                              : sent[i].payload(0));
    }
    const HitsResponse hits = backend().Hits(request.key());
    ASSERT_EQ(hits.count(), failures + 1);
    ASSERT_EQ(hits.hits(failures).request_hash(),
              HashOf(shape.kind == StreamKind::kServer
                         ? std::vector<EchoRequest>{request}
                         : sent));
  }

  // A stream that may end in any way, but must end.
  static void Anyhow(StreamShape shape,
                     const std::shared_ptr<grpc::Channel>& channel,
                     const EchoRequest& request, int messages, int how,
                     std::chrono::microseconds after, const Options& options) {
    grpc::ClientContext context;
    if (how == 0) {
      SetDeadline(&context, std::chrono::duration_cast<milliseconds>(after));
      Run(shape, channel, &context, request, options);
    } else if (how == 1) {
      std::thread canceller([&] {
        std::this_thread::sleep_for(after);
        context.TryCancel();
      });
      Run(shape, channel, &context, request, options);
      canceller.join();
    } else {
      auto stream =
          StartStream(shape, channel, &context, request, options.corked);
      for (int i = 0; i < messages / 2; ++i) {
        if (shape.kind == StreamKind::kServer) break;
        if (!stream->Write(request)) break;
      }
    }
  }
};

TEST_F(StreamStressTest, EveryStreamEnds) {
  const int seed = FromEnvironment("GRPC_RESILIENCE_STREAM_STRESS_SEED",
                                   static_cast<int>(std::random_device{}()));
  const int attempts = FromEnvironment("GRPC_RESILIENCE_STREAM_STRESS", 20000);
  std::printf("seed %d, at least %d attempts\n", seed, attempts);
  const auto counts = std::make_shared<Counts>();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const bool windows : {false, true}) {
    Config config = StreamRetryConfig(4);
    SetBackoff(&config.DefaultMethod().retry, milliseconds(1));
    // However slow the machine, headers that a failure follows are not seen.
    config.DefaultMethod().stream.initial_metadata_grace = seconds(5);
    if (windows) {
      config.DefaultMethod().stream.write_behind_bytes = 4096;
      config.DefaultMethod().stream.read_ahead_messages = 4;
    }
    const auto resilience = MakeResilience(std::move(config));
    resilience->AddObserver(counts);
    channels.push_back(NewChannel(resilience));
  }
  std::atomic<int> started{0};
  const auto work = [&](int thread) {
    std::mt19937 random(static_cast<unsigned>(seed + thread));
    const auto draw = [&random](int below) {
      return static_cast<int>(random() % static_cast<unsigned>(below));
    };
    while (counts->attempts < attempts && !HasFailure()) {
      const StreamShape shape{static_cast<StreamForm>(draw(5)),
                              static_cast<StreamKind>(draw(3))};
      const int messages = 1 + draw(8);
      const int failures = draw(4);
      Options options;
      options.messages = messages;
      options.corked = shape.kind != StreamKind::kServer && draw(3) == 0;
      options.write_last = draw(2) == 0;
      EchoRequest request;
      request.set_key("stress " + std::to_string(thread) + " " +
                      std::to_string(++started));
      request.add_payload(std::string(draw(2) * 5000, 'p') + request.key());
      Script* script = request.mutable_script();
      script->set_responses(messages);
      script->set_fail_times(failures);
      script->set_code(StatusCode::UNAVAILABLE);
      script->set_answer_at_end(true);
      script->set_send_headers_first(draw(3) == 0);
      if (shape.kind != StreamKind::kServer) {
        script->set_messages_before_failure(draw(10));
      }
      const auto& channel = channels[draw(2)];
      if (draw(3) > 0) {
        Whole(shape, channel, request, messages, failures, options);
      } else {
        script->set_hang_times(draw(4) == 0 ? 1 : 0);
        // A hang needs an end of the caller's.
        const int how = script->hang_times() > 0 ? draw(2) : draw(3);
        Anyhow(shape, channel, request, messages, how,
               std::chrono::microseconds(draw(8000)), options);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  // Nothing is left: no stream at the server, no timer, no kept byte.
  WaitUntil([] { return backend().Hits("").running() == 0; }, "server idle");
  WaitUntil([] { return internal::TimerThread::OfProcess()->pending() == 0; },
            "no timer");
  EXPECT_EQ(ReplayBytesInUse(), 0);
  std::printf("%d streams, %d attempts\n", started.load(),
              counts->attempts.load());
}

// A12. Streams and unary calls on one channel.
TEST_F(StreamStressTest, UnaryCallsBesideStreams) {
  const int calls = FromEnvironment("GRPC_RESILIENCE_STREAM_UNARY_CALLS", 2000);
  const auto channel = NewChannel(StreamRetryConfig());
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const StreamShape shape{static_cast<StreamForm>(i % 5),
                              StreamKind::kServer};
      do {
        EchoRequest request;
        request.set_key("beside " + std::to_string(i));
        request.mutable_script()->set_by_attempt_header(true);
        request.mutable_script()->set_fail_times(1);
        request.mutable_script()->set_code(StatusCode::UNAVAILABLE);
        request.mutable_script()->set_responses(20);
        grpc::ClientContext context;
        EXPECT_TRUE(
            Run(shape, channel, &context, request, Options()).status.ok());
      } while (!over);
    });
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const auto stub = Echo::NewStub(channel);
      EchoRequest request;
      request.mutable_script()->set_by_attempt_header(true);
      for (int n = 0; n < calls; ++n) {
        grpc::ClientContext context;
        EchoResponse response;
        EXPECT_TRUE(stub->Unary(&context, request, &response).ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace grpc_resilience::test

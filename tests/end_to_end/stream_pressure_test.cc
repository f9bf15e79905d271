// A server that doesn't read: writes wait as they would without us, and what is
// kept stays within its limits.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "grpc_resilience/testing/recording_observer.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

class StreamPressureTest : public StreamTest {
 protected:
  static constexpr int kWriteBytes = 10000;

  // gRPC's windows otherwise grow with what it sees, and plain streams differ.
  static void SetUpTestSuite() {
    EndToEndTest::SetUpTestSuite();
    deaf_ = BackendProcess::Start(BackendPath(), {"--fixed-windows"});
  }
  static void TearDownTestSuite() {
    deaf_.reset();
    EndToEndTest::TearDownTestSuite();
  }

  /// Without `resilience`, a plain one.
  static std::shared_ptr<grpc::Channel> NewDeafChannel(
      const std::shared_ptr<Resilience>& resilience) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    if (resilience != nullptr) {
      return CreateChannel(resilience, deaf_->target(),
                           grpc::InsecureChannelCredentials(), args);
    }
    args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    return grpc::CreateCustomChannel(deaf_->target(),
                                     grpc::InsecureChannelCredentials(), args);
  }
  /// Takes the first message, then nothing more.
  static EchoRequest DeafRequest() {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_hang_times(-1);
    return request;
  }
  /// Writes that complete before nothing moves for a while.
  int CompletedWrites(const std::shared_ptr<grpc::Channel>& channel) {
    const EchoRequest request = DeafRequest();
    EchoRequest more;
    more.set_data(std::string(kWriteBytes, 'w'));
    grpc::ClientContext context;
    auto stream = StartStream(shape(), channel, &context, request);
    EXPECT_TRUE(stream->Write(request));
    // It moves the windows when it is read.
    WaitUntil([&] { return deaf_->Hits(request.key()).count() == 1; },
              "the first message is read");
    std::atomic<int> completed{0};
    std::thread writer([&] {
      while (stream->Write(more)) ++completed;
    });
    int before = -1;
    while (before != completed) {
      before = completed;
      std::this_thread::sleep_for(
          std::chrono::duration_cast<milliseconds>(Scaled(milliseconds(300))));
    }
    const int result = completed;
    context.TryCancel();
    writer.join();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
    return result;
  }

 private:
  inline static std::unique_ptr<BackendProcess> deaf_;
};

// S17. As many writes complete as without us, whatever is kept; with write-behind,
// as many more as its window holds.
TEST_P(StreamPressureTest, WritesWaitAsWithoutUs) {
  if (kind() == StreamKind::kServer) return;  // writes nothing
  for (const int window : {0, 10 * kWriteBytes}) {
    Config config = StreamRetryConfig();
    config.max_replay_bytes = 64 * 1024 * 1024;
    config.DefaultMethod().stream.replay_bytes =
        window == 0 ? 64 * 1024 : 64 * 1024 * 1024;
    config.DefaultMethod().stream.write_behind_bytes = window;
    const auto resilience = MakeResilience(std::move(config));
    // When exactly HTTP/2's window updates come decides, for a plain stream too:
    // it stops within one window or within the next.
    constexpr int kHttp2Window = 65535 / kWriteBytes + 1;
    std::set<int> plain;
    std::set<int> ours;
    bool equal = false;
    for (int i = 0; i < 10 && !equal; ++i) {
      plain.insert(CompletedWrites(NewDeafChannel(nullptr)));
      ours.insert(CompletedWrites(NewDeafChannel(resilience)) -
                  window / kWriteBytes);
      equal = *ours.rbegin()<*plain.rbegin() + kHttp2Window&& * ours.begin()> *
                  plain.begin() -
              kHttp2Window;
    }
    EXPECT_TRUE(equal) << "window " << window << ", plain "
                       << testing::PrintToString(plain) << ", ours "
                       << testing::PrintToString(ours);
  }
  EXPECT_EQ(ReplayBytesInUse(), 0);
}

std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

// A caller that goes on writing after the end, as one does that looks at the status
// only.
TEST_P(StreamPressureTest, WritesAfterTheEndAreNotKept) {
  if (kind() == StreamKind::kServer) return;
  const EchoRequest request =
      FailingStream(-1, 0, StatusCode::INVALID_ARGUMENT);
  EchoRequest more;
  more.set_data(std::string(kWriteBytes, 'w'));
  const auto channel = NewChannel(StreamRetryConfig());
  grpc::ClientContext context;
  auto stream = StartStream(shape(), channel, &context, request);
  stream->Write(request);
  while (stream->Write(more)) {
  }
  const std::int64_t before = ResidentBytes();
  for (int i = 0; i < 4000; ++i) EXPECT_FALSE(stream->Write(more));
  EXPECT_LT(ResidentBytes() - before, 4000 * kWriteBytes / 4);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(, StreamPressureTest, AllStreams(), StreamName);

// Very many streams at once keep no more than the process may.
class StreamMemoryTest : public StreamTestBase {
 protected:
  StreamMemoryTest() : StreamTestBase(seconds(240)) {}
};

TEST_F(StreamMemoryTest, ManyStreamsStayWithinTheLimits) {
  const char* text = std::getenv("GRPC_RESILIENCE_STREAM_COUNT");
  const int count = text != nullptr ? std::atoi(text) : 1000;
  constexpr std::int64_t kLimit = 4 * 1024 * 1024;
  Config config = StreamRetryConfig();
  config.max_replay_bytes = kLimit;
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  const auto stub = Echo::NewStub(channel);
  const std::int64_t before = ResidentBytes();

  // Each sends 40 kB that nobody answers; the server hangs after the first message.
  class Writer : public grpc::ClientBidiReactor<EchoRequest, EchoResponse> {
   public:
    Writer(Echo::Stub* stub, EchoRequest first, std::atomic<int>* written,
           std::atomic<int>* done)
        : first_(std::move(first)), written_(written), done_(done) {
      more_.set_data(std::string(1000, 'm'));
      stub->async()->BidiStream(&context_, this);
      StartWrite(&first_);
      StartCall();
    }
    void OnWriteDone(bool ok) override {
      ++*written_;
      if (ok && ++count_ < 40) StartWrite(&more_);
    }
    void OnDone(const grpc::Status&) override { ++*done_; }
    void Cancel() { context_.TryCancel(); }

   private:
    grpc::ClientContext context_;
    const EchoRequest first_;
    EchoRequest more_;
    int count_ = 0;
    std::atomic<int>* const written_;
    std::atomic<int>* const done_;
  };
  std::atomic<int> written{0};
  std::atomic<int> done{0};
  std::vector<std::unique_ptr<Writer>> writers;
  for (int i = 0; i < count; ++i) {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_hang_times(-1);
    writers.push_back(
        std::make_unique<Writer>(stub.get(), request, &written, &done));
  }
  std::int64_t most = 0;
  int last = -1;
  while (last != written) {
    last = written;
    for (int i = 0; i < 100; ++i) {
      most = std::max(most, ReplayBytesInUse());
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
  EXPECT_LE(most, kLimit);
  EXPECT_GT(most, kLimit / 4);
  const std::int64_t grown = ResidentBytes() - before;
  std::printf("%d streams: %.1f MB kept at most, process grown by %.1f MB\n",
              count, static_cast<double>(most) / 1e6,
              static_cast<double>(grown) / 1e6);
  for (const auto& writer : writers) writer->Cancel();
  WaitUntil([&] { return done == count; }, "all are done", seconds(60));
  writers.clear();
  EXPECT_EQ(ReplayBytesInUse(), 0);
  int overflows = 0;
  for (const auto& buffer : observer->replay_buffers()) {
    overflows += buffer.process_full ? 1 : 0;
    EXPECT_LE(buffer.process_bytes, kLimit);
  }
  EXPECT_GT(overflows, 0);
}

}  // namespace
}  // namespace grpc_resilience::test

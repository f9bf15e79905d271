// Streams are retried until their caller has seen something, and byte for byte.

#include "grpc_resilience/testing/recording_observer.h"
#include "support/stream_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StreamRetryTest : public StreamTest {};

TEST_P(StreamRetryTest, SucceedsAtOnce) {
  const auto resilience = MakeResilience(StreamRetryConfig());
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  const EchoRequest request = NewStreamRequest();
  const StreamResult result = Run(channel, request);
  ExpectWhole(result, request, /*hit=*/1);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), IsEmpty());
  ASSERT_THAT(observer->calls(), SizeIs(1));
  EXPECT_EQ(observer->calls()[0].attempts, 1);
  EXPECT_EQ(observer->calls()[0].reason, StopReason::kOk);
  EXPECT_EQ(observer->calls()[0].method, method());
}

// A35. What was sent is sent again, the same and in order.
TEST_P(StreamRetryTest, FailuresBeforeTheFirstMessageAreRetried) {
  const auto resilience = MakeResilience(StreamRetryConfig());
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(2);
  const StreamResult result = Run(channel, request);
  ExpectWhole(result, request, /*hit=*/3);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_THAT(observer->attempts(), SizeIs(3));
  ASSERT_THAT(observer->calls(), SizeIs(1));
  EXPECT_EQ(observer->calls()[0].attempts, 3);
  const HitsResponse hits = Hits(request);
  EXPECT_THAT(Seen(hits.hits(0), "grpc-previous-rpc-attempts"), IsEmpty());
  EXPECT_THAT(Seen(hits.hits(2), "grpc-previous-rpc-attempts"),
              ElementsAre("2"));
  EXPECT_EQ(ReplayBytesInUse(), 0);
}

// A server that takes everything and fails at the client's end.
TEST_P(StreamRetryTest, FailsAtTheEndOfTheRequests) {
  const auto channel = NewChannel(StreamRetryConfig());
  EchoRequest request =
      FailingStream(2, kind() == StreamKind::kServer ? 0 : 99);
  request.mutable_script()->set_answer_at_end(true);
  Options options;
  options.messages = 20;
  const StreamResult result = Run(channel, request, options);
  ExpectWhole(result, request, /*hit=*/3, options.messages);
  // The server took everything each time, and it was the same.
  const HitsResponse hits = Hits(request);
  for (const Observation& hit : hits.hits()) {
    EXPECT_EQ(hit.request_hash(), hits.hits(0).request_hash());
  }
}

TEST_P(StreamRetryTest, FailsAfterSomeRequests) {
  const auto channel = NewChannel(StreamRetryConfig());
  EchoRequest request = FailingStream(2, kind() == StreamKind::kServer ? 0 : 5);
  request.mutable_script()->set_answer_at_end(true);
  Options options;
  options.messages = 20;
  const StreamResult result = Run(channel, request, options);
  ExpectWhole(result, request, /*hit=*/3, options.messages);
}

TEST_P(StreamRetryTest, LastMessageWithTheHalfClose) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = FailingStream(1);
  Options options;
  options.write_last = true;
  ExpectWhole(Run(channel, request, options), request, /*hit=*/2);
}

// S4. Reactors hijack before there is anything to send.
TEST_P(StreamRetryTest, CorkedStart) {
  if (kind() == StreamKind::kServer) return;  // gRPC ignores it there
  const auto channel = NewChannel(StreamRetryConfig());
  for (const bool write_last : {false, true}) {
    const EchoRequest request = FailingStream(2);
    Options options;
    options.corked = true;
    options.write_last = write_last;
    ExpectWhole(Run(channel, request, options), request, /*hit=*/3);
  }
}

// A35. Nothing is sent again once a message was received.
TEST_P(StreamRetryTest, FailuresAfterTheFirstMessageAreNot) {
  if (kind() == StreamKind::kClient) return;  // its only message is the last
  const auto resilience = MakeResilience(StreamRetryConfig());
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(-1, /*messages_before_failure=*/3);
  Options options;
  options.messages = 4;
  const StreamResult result = Run(channel, request, options);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.responses, SizeIs(3));
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("COMMITTED"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("1"));
  ASSERT_THAT(observer->calls(), SizeIs(1));
  EXPECT_EQ(observer->calls()[0].reason, StopReason::kCommitted);
  EXPECT_THAT(observer->attempts(), SizeIs(1));
}

TEST_P(StreamRetryTest, ExhaustedRetriesEndWithTheLastStatus) {
  const auto channel = NewChannel(StreamRetryConfig());
  EchoRequest request = FailingStream(-1);
  request.mutable_script()->set_details("details #");
  request.mutable_script()->set_number_metadata(true);
  const StreamResult result = Run(channel, request);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_EQ(result.status.error_details(), "details 3");
  EXPECT_THAT(result.responses, IsEmpty());
  EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("RETRIES_EXHAUSTED"));
  EXPECT_EQ(Hits(request).count(), 3);
}

TEST_P(StreamRetryTest, OtherCodesAreNotRetried) {
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request =
      FailingStream(-1, 0, StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Run(channel, request).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Hits(request).count(), 1);
}

// A36. Headers that nobody has seen don't stand in the way: those that come with
// the first message, and those that are followed by the failure within the grace.
TEST_P(StreamRetryTest, HeadersThenFailure) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().stream.initial_metadata_grace = seconds(5);
  const auto channel = NewChannel(std::move(config));
  for (const bool wait : {false, true}) {
    EchoRequest request = FailingStream(2);
    request.mutable_script()->set_send_headers_first(true);
    request.mutable_script()->set_number_metadata(true);
    Options options;
    options.wait_for_headers = wait;
    const StreamResult result = Run(channel, request, options);
    ExpectWhole(result, request, /*hit=*/3);
    EXPECT_THAT(result.Initial("y"), ElementsAre("3"));
    EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
  }
}

// Without a grace, who waits for headers has seen them at once.
TEST_P(StreamRetryTest, HeadersThenFailureWithoutGrace) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().stream.initial_metadata_grace = Duration::zero();
  const auto channel = NewChannel(std::move(config));
  EchoRequest request = FailingStream(-1);
  request.mutable_script()->set_send_headers_first(true);
  request.mutable_script()->set_delay_ms(100);
  Options options;
  options.wait_for_headers = true;
  const StreamResult result = Run(channel, request, options);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("COMMITTED"));
}

// More than is kept can't be sent again.
TEST_P(StreamRetryTest, FullReplayBufferEndsRetrying) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().stream.replay_bytes = 1000;
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  EchoRequest request =
      FailingStream(-1, kind() == StreamKind::kServer ? 0 : 10);
  request.mutable_script()->set_answer_at_end(true);
  request.set_data(std::string(900, 'd'));
  Options options;
  options.messages = 10;
  const StreamResult result = Run(channel, request, options);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("REPLAY_BUFFER_FULL"));
  ASSERT_THAT(observer->replay_buffers(), SizeIs(1));
  EXPECT_TRUE(observer->replay_buffers()[0].overflow);
  EXPECT_FALSE(observer->replay_buffers()[0].process_full);
  EXPECT_EQ(observer->replay_buffers()[0].method, method());
  EXPECT_EQ(ReplayBytesInUse(), 0);
}

TEST_P(StreamRetryTest, FullProcessBufferEndsRetrying) {
  Config config = StreamRetryConfig();
  config.max_replay_bytes = 100;
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  const auto channel = NewChannel(resilience);
  const EchoRequest request = FailingStream(-1);
  const StreamResult result = Run(channel, request);
  EXPECT_EQ(result.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("REPLAY_BUFFER_FULL"));
  ASSERT_THAT(observer->replay_buffers(), SizeIs(1));
  EXPECT_TRUE(observer->replay_buffers()[0].process_full);
}

// A caller that waits for headers, and one that doesn't read at all.
TEST_P(StreamRetryTest, FinishWithoutReading) {
  if (kind() == StreamKind::kClient) return;
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = FailingStream(2, 0);
  EchoRequest failing = request;
  failing.mutable_script()->set_fail_times(-1);
  grpc::ClientContext context;
  auto stream = StartStream(shape(), channel, &context, failing);
  if (kind() == StreamKind::kBidi) {
    EXPECT_TRUE(stream->Write(failing));
    stream->WritesDone();
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(failing).count(), 3);
}

// A good end is told without reading it all: at once where the caller waits for the
// status, to a reactor that never reads at its deadline.
TEST_P(StreamRetryTest, GoodEndWithoutReading) {
  if (kind() == StreamKind::kClient) return;
  const auto channel = NewChannel(StreamRetryConfig());
  const EchoRequest request = NewStreamRequest(1);
  grpc::ClientContext context;
  SetDeadline(&context, std::chrono::duration_cast<milliseconds>(
                            Scaled(milliseconds(1500))));
  const auto start = std::chrono::steady_clock::now();
  auto stream = StartStream(shape(), channel, &context, request);
  if (kind() == StreamKind::kBidi) {
    EXPECT_TRUE(stream->Write(request));
    stream->WritesDone();
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::OK);
  const double elapsed = Milliseconds(std::chrono::steady_clock::now() - start);
  if (is_reactor()) {
    EXPECT_GE(elapsed, 1490 * TimeFactor());
  } else {
    EXPECT_LT(elapsed, 1200 * TimeFactor());
  }
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(StreamRetryTest, WithWindows) {
  Config config = StreamRetryConfig();
  config.DefaultMethod().stream.write_behind_bytes = 64 * 1024;
  config.DefaultMethod().stream.read_ahead_messages = 16;
  const auto channel = NewChannel(std::move(config));
  for (const int failures : {0, 2}) {
    EchoRequest request = FailingStream(failures);
    request.mutable_script()->set_responses(50);
    Options options;
    options.messages = 50;
    ExpectWhole(Run(channel, request, options), request, failures + 1, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(, StreamRetryTest, AllStreams(), StreamName);

}  // namespace
}  // namespace grpc_resilience::test

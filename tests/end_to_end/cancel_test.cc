// A24. TryCancel at any moment: it never blocks, the call ends at once, and
// nothing more is sent.

#include <thread>

#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

class CancelTest : public WayTest {
 protected:
  // Milliseconds that TryCancel took.
  static double TimedCancel(grpc::ClientContext* context) {
    const auto started = std::chrono::steady_clock::now();
    context->TryCancel();
    return Milliseconds(std::chrono::steady_clock::now() - started);
  }

  // Cancels when the server has had `hits` hits and `later` has passed.
  void ExpectCancelEndsCall(const std::shared_ptr<grpc::Channel>& channel,
                            const EchoRequest& request, int hits,
                            milliseconds later) {
    grpc::ClientContext context;
    EchoResponse response;
    response.add_items("old");
    Prepare(&context);
    RunningCall call = Start(style(), channel, EchoMethod::kIdempotent,
                             &context, request, &response);
    WaitUntil([&] { return Hits(request).count() == hits; }, "the hits");
    std::this_thread::sleep_for(later);
    EXPECT_FALSE(call.done());
    const auto cancelled = std::chrono::steady_clock::now();
    EXPECT_LT(TimedCancel(&context), 10 * TimeFactor());
    const CallResult result = call.Wait();
    EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - cancelled),
              100 * TimeFactor());
    EXPECT_EQ(result.status.error_code(), StatusCode::CANCELLED);
    EXPECT_TRUE(result.tag_ok);
    EXPECT_THAT(response.items(), testing::ElementsAre("old"));
    EXPECT_EQ(Hits(request).count(), hits);
  }
};

// (i)
TEST_P(CancelTest, DuringTheFirstAttempt) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  ExpectCancelEndsCall(NewChannel(RetryConfig()), request, 1, milliseconds(0));
  WaitUntil([&] { return Hits(request).hits(0).cancelled(); },
            "the server sees the cancellation");
}

// (i), in an attempt of the library's own.
TEST_P(CancelTest, DuringTheSecondAttempt) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_hang_from(2);
  ExpectCancelEndsCall(NewChannel(RetryConfig()), request, 2, milliseconds(0));
  WaitUntil([&] { return Hits(request).hits(1).cancelled(); },
            "the server sees the cancellation");
}

// (ii)
TEST_P(CancelTest, DuringABackoff) {
  Config config = RetryConfig();
  SetBackoff(&config.DefaultMethod().retry, seconds(10));
  ExpectCancelEndsCall(NewChannel(std::move(config)), FailingRequest(-1), 1,
                       milliseconds(20));
}

// (iii)
TEST_P(CancelTest, AfterTheEnd) {
  const auto channel = NewChannel(RetryConfig());
  for (const int failures : {0, 2, 3}) {
    const EchoRequest request = FailingRequest(failures);
    grpc::ClientContext context;
    EchoResponse response;
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, &context, request, &response);
    const int hits = Hits(request).count();
    EXPECT_LT(TimedCancel(&context), 10 * TimeFactor());
    EXPECT_EQ(result.status.ok(), failures < 3);
    EXPECT_EQ(Hits(request).count(), hits);
  }
}

// (iv)
TEST_P(CancelTest, Twice) {
  const auto channel = NewChannel(RetryConfig());
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_hang_from(2);
  grpc::ClientContext context;
  EchoResponse response;
  Prepare(&context);
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  WaitUntil([&] { return Hits(request).count() == 2; }, "the second hit");
  EXPECT_LT(TimedCancel(&context), 10 * TimeFactor());
  EXPECT_LT(TimedCancel(&context), 10 * TimeFactor());
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_LT(TimedCancel(&context), 10 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 2);
}

// A call that was cancelled before it began costs nothing.
TEST_P(CancelTest, BeforeTheStart) {
  const auto resilience = MakeResilience(RetryConfig());
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const EchoRequest request = NewRequest();
  grpc::ClientContext context;
  context.TryCancel();
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, &context, request,
           &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(Hits(request).count(), 0);
  ASSERT_EQ(log->calls().size(), 1u);
  EXPECT_EQ(log->calls()[0].attempts, 0);
  EXPECT_EQ(log->calls()[0].reason, StopReason::kCancelled);
}

// Cancels at random moments, concurrently with everything else: each call ends
// exactly once, soon, as CANCELLED or with its own result.
TEST_P(CancelTest, AtRandomMoments) {
  const auto channel = NewChannel(RetryConfig());
  EchoRequest request = FailingRequest(2);
  request.mutable_script()->set_by_attempt_header(true);
  request.mutable_script()->set_delay_ms(1);
  for (int i = 0; i < 100; ++i) {
    auto context = std::make_unique<grpc::ClientContext>();
    EchoResponse response;
    Prepare(context.get());
    RunningCall call = Start(style(), channel, EchoMethod::kIdempotent,
                             context.get(), request, &response);
    std::this_thread::sleep_for(std::chrono::microseconds(90 * i));
    context->TryCancel();
    const CallResult result = call.Wait();
    context.reset();
    EXPECT_THAT(result.status.error_code(),
                testing::AnyOf(StatusCode::OK, StatusCode::CANCELLED))
        << result.status.error_message();
  }
}

INSTANTIATE_TEST_SUITE_P(, CancelTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

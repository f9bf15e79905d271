// What ends a call while a slow fallback is waited for: its caller, its deadline, and
// the inbound call that it was made for (ClientContext::FromServerContext).

#include "grpc_resilience/fallback.h"
#include "grpc_resilience/function_fallback.h"
#include "support/end_to_end_test.h"
#include "support/onward_server.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

using SteadyClock = std::chrono::steady_clock;

class FallbackEndTest : public WayTest {
 protected:
  /// Each source may take longer than the test.
  Config SlowConfig(std::vector<std::shared_ptr<FallbackSource>> sources) {
    Config config = RetryConfig();
    config.DefaultMethod().fallbacks = std::move(sources);
    config.DefaultMethod().fallback_rules.timeout = std::chrono::minutes(2);
    return config;
  }
  static Config Hedged(Config config) {
    config.DefaultMethod().hedging.emplace().hedging_delay = seconds(20);
    return config;
  }
  /// An inbound call whose outbound one comes to nothing and falls back on `slow_`;
  /// it is cancelled then.
  void ExpectParentEndsFallback(const std::shared_ptr<Resilience>& resilience) {
    OnwardServer middle(style(), NewChannel(resilience));
    grpc::ClientContext context;
    EchoResponse response;
    RunningCall inbound =
        Start(CallStyle::kCallback, middle.channel(), EchoMethod::kUnary,
              &context, FailingRequest(-1), &response);
    WaitUntil([&] { return slow_->asked() == 1; }, "the source was asked");
    std::this_thread::sleep_for(milliseconds(20));
    const auto cancelled_at = SteadyClock::now();
    context.TryCancel();
    const CallResult outbound = middle.TakeOutbound();
    EXPECT_EQ(outbound.status.error_code(), StatusCode::CANCELLED)
        << outbound.status.error_message();
    EXPECT_LT(Milliseconds(middle.ended_at() - cancelled_at),
              100 * TimeFactor());
    EXPECT_EQ(inbound.Wait().status.error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(next_->asked(), 0);
    EXPECT_FALSE(slow_->AnswerLate());
  }

  const std::shared_ptr<ScriptedFallback> slow_ = ScriptedFallback::Silent();
  const std::shared_ptr<ScriptedFallback> next_ =
      ScriptedFallback::Answering("next");
};

// The next one isn't asked either.
TEST_P(FallbackEndTest, CallerCancels) {
  const auto channel = NewChannel(SlowConfig({slow_, next_}));
  grpc::ClientContext context;
  Prepare(&context);
  const EchoRequest request = FailingRequest(-1);
  EchoResponse response;
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  WaitUntil([&] { return slow_->asked() == 1; }, "the source was asked");
  std::this_thread::sleep_for(milliseconds(20));
  const auto cancelled_at = SteadyClock::now();
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_LT(Milliseconds(SteadyClock::now() - cancelled_at),
            100 * TimeFactor());
  EXPECT_EQ(next_->asked(), 0);
  EXPECT_FALSE(slow_->AnswerLate());
}

// The wait is over with the deadline; one that answers at once still may.
TEST_P(FallbackEndTest, DeadlinePasses) {
  const auto channel = NewChannel(SlowConfig({slow_, next_}));
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  EchoResponse response;
  const CallResult result = Call(channel, EchoMethod::kIdempotent, &context,
                                 FailingRequest(-1), &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("next"));
  EXPECT_EQ(slow_->asked(), 1);
  EXPECT_THAT(Milliseconds(result.elapsed),
              AllOf(Ge(150), Lt(300 * TimeFactor())));
  EXPECT_FALSE(slow_->AnswerLate());
}

// A function that blocks goes on by itself; the call doesn't wait for it.
TEST_P(FallbackEndTest, CallerCancelsAFunction) {
  std::promise<void> asked;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  const auto channel =
      NewChannel(SlowConfig({Fallback<EchoRequest, EchoResponse>(
          [&asked, may_go_on](const EchoRequest&, const FailedCall&)
              -> FallbackResult<EchoResponse> {
            asked.set_value();
            may_go_on.wait();
            return EchoResponse();
          })}));
  grpc::ClientContext context;
  Prepare(&context);
  const EchoRequest request = FailingRequest(-1);
  EchoResponse response;
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  asked.get_future().wait();
  const auto cancelled_at = SteadyClock::now();
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_LT(Milliseconds(SteadyClock::now() - cancelled_at),
            100 * TimeFactor());
  go_on.set_value();
}

// A23.
TEST_P(FallbackEndTest, ParentIsCancelled) {
  ExpectParentEndsFallback(MakeResilience(SlowConfig({slow_, next_})));
}

TEST_P(FallbackEndTest, ParentOfAHedgedCallIsCancelled) {
  ExpectParentEndsFallback(MakeResilience(Hedged(SlowConfig({slow_, next_}))));
}

// After a backoff the parent is watched already.
TEST_P(FallbackEndTest, ParentIsCancelledAfterABackoff) {
  Config config = SlowConfig({slow_, next_});
  SetBackoff(&config.DefaultMethod().retry, milliseconds(30));
  ExpectParentEndsFallback(MakeResilience(std::move(config)));
}

// The breaker rejects: nothing was ever on the wire.
TEST_P(FallbackEndTest, ParentOfARejectedCallIsCancelled) {
  Config config = SlowConfig({slow_, next_});
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::minutes(1);
  const auto resilience = MakeResilience(std::move(config));
  grpc::ClientContext context;
  context.AddMetadata(kWithoutFallbacksKey, "1");
  EchoResponse response;
  Call(NewChannel(resilience), EchoMethod::kUnary, &context, FailingRequest(-1),
       &response);
  ExpectParentEndsFallback(resilience);
}

// gRPC itself may cancel what its inbound deadline ends.
TEST_P(FallbackEndTest, DeadlineOfTheParentPasses) {
  OnwardServer middle(style(), NewChannel(SlowConfig({slow_, next_})));
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  EchoResponse response;
  const auto started = SteadyClock::now();
  RunningCall inbound =
      Start(CallStyle::kCallback, middle.channel(), EchoMethod::kUnary,
            &context, FailingRequest(-1), &response);
  const CallResult outbound = middle.TakeOutbound();
  EXPECT_THAT(outbound.status.error_code(),
              AnyOf(StatusCode::UNAVAILABLE, StatusCode::CANCELLED));
  EXPECT_EQ(slow_->asked(), 1);
  EXPECT_LT(Milliseconds(middle.ended_at() - started),
            200 + 100 * TimeFactor());
  inbound.Wait();
}

// A parent that lives on is no obstacle, whether the answer comes at once or later.
TEST_P(FallbackEndTest, ParentGoesOn) {
  for (const auto& source :
       {ScriptedFallback::Answering("answer"),
        ScriptedFallback::AnsweringAfter(milliseconds(20), "answer")}) {
    OnwardServer middle(style(), NewChannel(SlowConfig({source})));
    grpc::ClientContext context;
    EchoResponse response;
    const CallResult result =
        test::Call(CallStyle::kSync, middle.channel(), EchoMethod::kUnary,
                   &context, FailingRequest(-1), &response);
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_THAT(response.items(), ElementsAre("answer"));
  }
}

// The parent ends at the moment at which the source answers: the call ends once, one
// way or the other.
TEST_P(FallbackEndTest, ParentEndsAsTheSourceAnswers) {
  for (int i = 0; i < 20; ++i) {
    const auto slow = ScriptedFallback::Silent();
    OnwardServer middle(style(), NewChannel(SlowConfig({slow})));
    grpc::ClientContext context;
    EchoResponse response;
    RunningCall inbound =
        Start(CallStyle::kCallback, middle.channel(), EchoMethod::kUnary,
              &context, FailingRequest(-1), &response);
    WaitUntil([&] { return slow->asked() == 1; }, "the source was asked");
    std::thread other([&] { slow->AnswerLate(); });
    context.TryCancel();
    other.join();
    EXPECT_THAT(middle.TakeOutbound().status.error_code(),
                AnyOf(StatusCode::OK, StatusCode::CANCELLED));
    inbound.Wait();
  }
}

INSTANTIATE_TEST_SUITE_P(, FallbackEndTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

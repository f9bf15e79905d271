// Hedging in every style of call (C11): one result, losers cut off, no side effect
// but those of the attempts that were sent.

#include <atomic>
#include <random>
#include <thread>

#include "grpc_resilience/call_options.h"
#include "grpc_resilience/testing/recording_observer.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HedgingTest : public StyleTest {
 protected:
  static Config HedgingConfig(milliseconds delay, int max_attempts = 2) {
    Config config = RetryConfig(1);
    HedgingPolicy& hedging = config.DefaultMethod().hedging.emplace();
    hedging.max_hedged_attempts = max_attempts;
    hedging.hedging_delay = delay;
    return config;
  }

  std::shared_ptr<grpc::Channel> Observed(Config config) {
    auto resilience = MakeResilience(std::move(config));
    resilience->AddObserver(observer_);
    return NewChannel(std::move(resilience));
  }

  // The first hit is answered after that time, later ones at once.
  static EchoRequest SlowFirst(int delay_ms) {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_delay_ms(delay_ms);
    request.mutable_script()->set_delay_times(1);
    return request;
  }

  const std::shared_ptr<RecordingObserver> observer_ =
      std::make_shared<RecordingObserver>();
};

TEST_P(HedgingTest, AQuickAnswerIsTheOnlyAttempt) {
  const EchoRequest request = NewRequest();
  EchoResponse response;
  const CallResult result = Call(Observed(HedgingConfig(seconds(5))),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), IsEmpty());
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(observer_->hedges(), 0);
}

// The response is the winner's alone.
TEST_P(HedgingTest, TheSecondAnswersForAHungFirst) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  request.mutable_script()->set_number_metadata(true);
  EchoResponse response;
  response.add_items("old");
  const auto started = std::chrono::steady_clock::now();
  const CallResult result = Call(Observed(HedgingConfig(milliseconds(30))),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
  EXPECT_EQ(response.hit(), 2);
  EXPECT_THAT(result.Trailing("x"), ElementsAre("2"));
  EXPECT_THAT(result.Initial("y"), ElementsAre("2"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("2"));
  WaitUntil([&] { return Hits(request).hits(0).cancelled(); },
            "the loser is cancelled");
  const HitsResponse hits = Hits(request);
  EXPECT_EQ(hits.count(), 2);
  EXPECT_GE(std::chrono::nanoseconds(hits.hits(1).arrived_ns()),
            started.time_since_epoch() + milliseconds(29));
  EXPECT_LT(Milliseconds(std::chrono::nanoseconds(hits.hits(0).ended_ns() -
                                                  hits.hits(1).arrived_ns())),
            50 * TimeFactor());
  EXPECT_THAT(Seen(hits.hits(0), "grpc-previous-rpc-attempts"), IsEmpty());
  EXPECT_THAT(Seen(hits.hits(1), "grpc-previous-rpc-attempts"),
              ElementsAre("1"));
  EXPECT_EQ(observer_->hedges(), 1);
  EXPECT_EQ(observer_->attempts().size(), 2u);
  ASSERT_EQ(observer_->calls().size(), 1u);
  EXPECT_EQ(observer_->calls()[0].attempts, 2);
}

TEST_P(HedgingTest, TheFirstMayStillWin) {
  EchoRequest request = SlowFirst(150);
  request.mutable_script()->set_hang_from(2);
  EchoResponse response;
  const CallResult result = Call(NewChannel(HedgingConfig(milliseconds(30), 3)),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(response.hit(), 1);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_EQ(Hits(request).count(), 3);
}

TEST_P(HedgingTest, NotWithoutIdempotency) {
  const EchoRequest request = SlowFirst(150);
  const CallResult result = Call(NewChannel(HedgingConfig(milliseconds(10))),
                                 EchoMethod::kUnary, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(HedgingTest, AFailureBringsTheNextAtOnce) {
  const EchoRequest request = FailingRequest(2);
  EchoResponse response;
  const CallResult result = Call(NewChannel(HedgingConfig(seconds(20), 3)),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(response.hit(), 3);
  EXPECT_LT(Milliseconds(result.elapsed), 1000 * TimeFactor());
}

TEST_P(HedgingTest, AllFail) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_details("d#");
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(NewChannel(HedgingConfig(seconds(20), 3)),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_EQ(result.status.error_details(), "d3");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("RETRIES_EXHAUSTED"));
  EXPECT_EQ(Hits(request).count(), 3);
}

TEST_P(HedgingTest, AnyOtherCodeEndsTheCall) {
  const EchoRequest request = FailingRequest(-1, StatusCode::INVALID_ARGUMENT);
  const CallResult result = Call(NewChannel(HedgingConfig(milliseconds(0), 3)),
                                 EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(HedgingTest, PushbackForbidsMore) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_pushback_ms("-1");
  const CallResult result = Call(NewChannel(HedgingConfig(seconds(20), 3)),
                                 EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("PUSHBACK"));
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(HedgingTest, PushbackPutsTheNextOff) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_pushback_ms("150");
  const CallResult result = Call(NewChannel(HedgingConfig(milliseconds(500))),
                                 EchoMethod::kIdempotent, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  const HitsResponse hits = Hits(request);
  ASSERT_EQ(hits.count(), 2);
  EXPECT_GE(hits.hits(1).arrived_ns() - hits.hits(0).arrived_ns(), 145'000'000);
}

TEST_P(HedgingTest, ThrottleRefusesHedges) {
  Config config = HedgingConfig(milliseconds(10));
  TargetConfig& target = config.DefaultTarget();
  target.breaker.mode = BreakerMode::kEnabled;
  target.breaker.failure_rate_threshold = 1.0;
  target.throttle = {true, 2, 0.1};
  const auto channel = Observed(std::move(config));
  Call(channel, EchoMethod::kUnary, FailingRequest(-1));  // one token of two
  const EchoRequest request = SlowFirst(100);
  const CallResult result = Call(channel, EchoMethod::kIdempotent, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(observer_->budget_refusals(), 1);
}

TEST_P(HedgingTest, TheDeadlineEndsAllOfThem) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(150));
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(HedgingConfig(milliseconds(20), 3)),
           EchoMethod::kIdempotent, &context, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LT(Milliseconds(result.elapsed), 150 + 100 * TimeFactor());
  const HitsResponse hits = Hits(request);
  EXPECT_EQ(hits.count(), 3);
  for (const Observation& hit : hits.hits()) {
    EXPECT_LE(hit.time_left_ms(), 152);
  }
}

TEST_P(HedgingTest, CancelledWithSeveralOnTheWire) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  grpc::ClientContext context;
  EchoResponse response;
  response.add_items("old");
  RunningCall call =
      Start(style(), NewChannel(HedgingConfig(milliseconds(10), 3)),
            EchoMethod::kIdempotent, &context, request, &response);
  WaitUntil([&] { return Hits(request).count() == 3; }, "the hits");
  const auto cancelled = std::chrono::steady_clock::now();
  context.TryCancel();
  const CallResult result = call.Wait();
  EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - cancelled),
            100 * TimeFactor());
  EXPECT_EQ(result.status.error_code(), StatusCode::CANCELLED);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  WaitUntil([&] { return Hits(request).running() == 0; }, "all are cancelled");
}

TEST_P(HedgingTest, CancelledDuringAPushback) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_pushback_ms("60000");
  grpc::ClientContext context;
  EchoResponse response;
  RunningCall call =
      Start(style(), NewChannel(HedgingConfig(seconds(20), 3)),
            EchoMethod::kIdempotent, &context, request, &response);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
  std::this_thread::sleep_for(milliseconds(20));
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(HedgingTest, ACallMayAskForNone) {
  const EchoRequest request = SlowFirst(100);
  grpc::ClientContext context;
  CallOptions options;
  options.max_attempts = 1;
  ASSERT_TRUE(SetCallOptions(options, &context).ok());
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(HedgingConfig(milliseconds(10))), EchoMethod::kIdempotent,
           &context, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(Hits(request).count(), 1);
}

// About one call in twenty is hedged once the latency is known.
TEST_P(HedgingTest, TheDelayFollowsTheLatency) {
  Config config = HedgingConfig(seconds(20));
  HedgingPolicy& hedging = *config.DefaultMethod().hedging;
  hedging.delay_quantile = 0.8;
  hedging.delay_minimum_calls = 10;
  const auto channel = Observed(std::move(config));
  for (int i = 0; i < 20; ++i) {
    Call(channel, EchoMethod::kIdempotent, NewRequest());
  }
  // Far beyond what they took, far below the fixed delay.
  const EchoRequest request = SlowFirst(10'000);
  const CallResult result = Call(channel, EchoMethod::kIdempotent, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_LT(Milliseconds(result.elapsed), 5'000);
  EXPECT_EQ(Hits(request).count(), 2);
}

// Every call ends once, in time, and every attempt that was told of was sent.
TEST_P(HedgingTest, RandomCalls) {
  auto resilience = MakeResilience(HedgingConfig(milliseconds(3), 3));
  resilience->AddObserver(observer_);
  const auto channel = NewChannel(resilience);
  constexpr int kThreads = 4;
  const int calls = TimeFactor() > 1 ? 25 : 60;
  std::atomic<int> codes[17] = {};
  std::vector<std::thread> callers;
  for (int thread = 0; thread < kThreads; ++thread) {
    callers.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      EchoRequest request;
      request.set_key("random");
      Script* const script = request.mutable_script();
      script->set_by_attempt_header(true);
      script->set_failure_probability(0.3);
      script->set_random_delay_ms(12);
      for (int i = 0; i < calls; ++i) {
        grpc::ClientContext context;
        SetDeadline(&context, milliseconds(5 + random() % 20));
        EchoResponse response;
        RunningCall call = Start(style(), channel, EchoMethod::kIdempotent,
                                 &context, request, &response);
        if (random() % 4 == 0) {
          std::this_thread::sleep_for(milliseconds(random() % 10));
          context.TryCancel();
        }
        ++codes[call.Wait().status.error_code()];
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(codes[StatusCode::OK] + codes[StatusCode::UNAVAILABLE] +
                codes[StatusCode::CANCELLED] +
                codes[StatusCode::DEADLINE_EXCEEDED],
            calls * kThreads);
  EXPECT_GT(codes[StatusCode::OK], 0);
  EXPECT_EQ(observer_->calls().size(),
            static_cast<std::size_t>(calls * kThreads));
  int attempts = 0;
  for (const RecordedCall& call : observer_->calls()) attempts += call.attempts;
  EXPECT_EQ(observer_->attempts().size(), static_cast<std::size_t>(attempts));
  EXPECT_GT(observer_->hedges(), 0);
}

INSTANTIATE_TEST_SUITE_P(, HedgingTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

// The breaker as callers see it.

#include "grpc_resilience/rpc/v1/status.pb.h"
#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BreakerTest : public StyleTest {
 protected:
  // Opens at the second failure in a row.
  static Config QuickBreaker(Duration open_duration = std::chrono::minutes(1)) {
    Config config = RetryConfig(1);
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.mode = BreakerMode::kEnabled;
    breaker.failure_rate_threshold = 1.0;
    breaker.window_calls = 2;
    breaker.minimum_calls = 2;
    breaker.half_open_calls = 1;
    breaker.open_duration = open_duration;
    return config;
  }
  void Fail(const std::shared_ptr<grpc::Channel>& channel, EchoMethod method,
            int times) {
    for (int i = 0; i < times; ++i) {
      Call(channel, method, FailingRequest(-1));
    }
  }
  State StateOf(const Resilience& resilience, std::string_view method = {}) {
    const auto snapshot = resilience.FindBreaker(backend().target(), method);
    EXPECT_TRUE(snapshot.has_value());
    return snapshot.has_value() ? snapshot->state : State::kClosed;
  }
};

// Nobody takes a rejection for the server's answer, or retries into it.
TEST_P(BreakerTest, RejectionSaysWhatItIs) {
  const auto resilience = MakeResilience(QuickBreaker());
  const auto channel = NewChannel(resilience);
  Fail(channel, EchoMethod::kUnary, 2);
  const EchoRequest request = NewRequest();
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(channel, EchoMethod::kUnary, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.status.error_message(), HasSubstr(backend().target()));
  EXPECT_THAT(result.status.error_message(), HasSubstr("hit 1 failed"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("0"));
  EXPECT_THAT(result.initial_metadata, IsEmpty());
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_TRUE(result.tag_ok);
  EXPECT_EQ(Hits(request).count(), 0);

  rpc::v1::Status details;
  ASSERT_TRUE(details.ParseFromString(result.status.error_details()));
  EXPECT_EQ(details.code(), StatusCode::UNAVAILABLE);
  bool has_error_info = false;
  bool has_retry_info = false;
  for (const auto& any : details.details()) {
    if (any.type_url() == "type.googleapis.com/google.rpc.ErrorInfo") {
      rpc::v1::ErrorInfo info;
      ASSERT_TRUE(info.ParseFromString(any.value()));
      EXPECT_EQ(info.reason(), "BREAKER_OPEN");
      EXPECT_EQ(info.domain(), "grpc-resilience");
      EXPECT_EQ(info.metadata().at("target"), backend().target());
      has_error_info = true;
    } else if (any.type_url() == "type.googleapis.com/google.rpc.RetryInfo") {
      rpc::v1::RetryInfo info;
      ASSERT_TRUE(info.ParseFromString(any.value()));
      EXPECT_GT(info.retry_delay().seconds(), 50);
      EXPECT_LE(info.retry_delay().seconds(), 60);
      has_retry_info = true;
    }
  }
  EXPECT_TRUE(has_error_info);
  EXPECT_TRUE(has_retry_info);
}

// D31 as callers see it: rejections don't count as failures; one good probe ends
// the outage, and observers hear each transition once, in order.
TEST_P(BreakerTest, ProbeClosesAfterTheOpenTime) {
  const auto resilience = MakeResilience(QuickBreaker(milliseconds(50)));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = NewChannel(resilience);
  Fail(channel, EchoMethod::kUnary, 2);
  EXPECT_EQ(StateOf(*resilience), State::kOpen);
  WaitUntil(
      [&] { return resilience->FindBreaker(backend().target())->probe_ready; },
      "the open time is over");
  const EchoRequest request = NewRequest();
  EXPECT_TRUE(Call(channel, EchoMethod::kUnary, request).status.ok());
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(StateOf(*resilience), State::kClosed);
  WaitUntil([&] { return log->transitions().size() == 3; }, "three events");
  EXPECT_EQ(log->transitions()[0].to, State::kOpen);
  EXPECT_EQ(log->transitions()[1].to, State::kHalfOpen);
  EXPECT_EQ(log->transitions()[2].to, State::kClosed);
}

// D24. Callers that cancel don't open the breaker of a healthy server.
TEST_P(BreakerTest, CancelledCallsDontCount) {
  const auto resilience = MakeResilience(QuickBreaker());
  const auto channel = NewChannel(resilience);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  constexpr int kCalls = 100;
  std::vector<grpc::ClientContext> contexts(kCalls);
  std::vector<EchoResponse> responses(kCalls);
  std::vector<RunningCall> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(Start(style(), channel, EchoMethod::kUnary, &contexts[i],
                          request, &responses[i]));
  }
  WaitUntil([&] { return Hits(request).count() == kCalls; }, "all in flight");
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (RunningCall& call : calls) {
    EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  }
  const auto snapshot = resilience->FindBreaker(backend().target());
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->state, State::kClosed);
  EXPECT_EQ(snapshot->window_calls, 0);
  EXPECT_EQ(snapshot->window_failures, 0);
}

// A server that passes on what its own breaker says of a target behind it is well
// itself, and asking it again is no use.
TEST_P(BreakerTest, ARejectionBehindTheServerIsPassedOn) {
  std::string details;
  {
    const auto behind = MakeResilience(QuickBreaker());
    const auto channel = NewChannel(behind);
    Fail(channel, EchoMethod::kUnary, 2);
    details =
        Call(channel, EchoMethod::kUnary, NewRequest()).status.error_details();
    ASSERT_FALSE(details.empty());
  }
  Config config = QuickBreaker();
  config.DefaultMethod().retry.max_attempts = 3;
  config.DefaultTarget().breaker.max_hinted_open_duration =
      std::chrono::minutes(1);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  for (int call = 0; call < 5; ++call) {
    EchoRequest request = FailingRequest(-1);
    request.mutable_script()->set_code(StatusCode::UNAVAILABLE);
    request.mutable_script()->set_details(details);
    const CallResult result = Call(channel, EchoMethod::kIdempotent, request);
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(result.status.error_details(), details);
    EXPECT_EQ(Hits(request).count(), 1);
    EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
                ElementsAre("PUSHBACK"));
  }
  const auto snapshot = resilience->FindBreaker(backend().target());
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->state, State::kClosed);
  EXPECT_EQ(snapshot->window_calls, 0);
  EXPECT_EQ(snapshot->ignored[IgnoredCause::kOwnRejection], 5u);
}

// D26. A server that hangs is cut off, when the deadlines were fair.
TEST_P(BreakerTest, HangingServerOpensIt) {
  Config config = QuickBreaker();
  config.DefaultTarget().breaker.min_deadline_for_failure = milliseconds(40);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  const auto call_within = [&](milliseconds limit) {
    grpc::ClientContext context;
    SetDeadline(&context, limit);
    EchoResponse response;
    return Call(channel, EchoMethod::kUnary, &context, request, &response)
        .status.error_code();
  };
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(call_within(milliseconds(10)), StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_EQ(StateOf(*resilience), State::kClosed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call_within(milliseconds(60)), StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_EQ(StateOf(*resilience), State::kOpen);
}

// D32. Scope kTarget: one bad method closes the door for all.
TEST_P(BreakerTest, ScopeTarget) {
  const auto resilience = MakeResilience(QuickBreaker());
  const auto channel = NewChannel(resilience);
  Fail(channel, EchoMethod::kUnary, 2);
  const EchoRequest request = NewRequest();
  EXPECT_EQ(Call(channel, EchoMethod::kReadOnly, request).status.error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 0);
  EXPECT_THAT(resilience->Breakers(), SizeIs(1));
}

// D32. Scope kTargetAndMethod: the other methods go on.
TEST_P(BreakerTest, ScopeTargetAndMethod) {
  Config config = QuickBreaker();
  config.DefaultTarget().breaker.scope = BreakerScope::kTargetAndMethod;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  Fail(channel, EchoMethod::kUnary, 2);
  EXPECT_TRUE(Call(channel, EchoMethod::kReadOnly, NewRequest()).status.ok());
  const CallResult rejected = Call(channel, EchoMethod::kUnary, NewRequest());
  EXPECT_EQ(rejected.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(rejected.status.error_message(),
              HasSubstr(MethodName(EchoMethod::kUnary)));
  EXPECT_EQ(StateOf(*resilience, MethodName(EchoMethod::kUnary)), State::kOpen);
  EXPECT_EQ(StateOf(*resilience, MethodName(EchoMethod::kReadOnly)),
            State::kClosed);
}

// E05. Two channels of one name share a breaker.
TEST_P(BreakerTest, ChannelsOfOneTargetShareIt) {
  const auto resilience = MakeResilience(QuickBreaker());
  Fail(NewChannel(resilience), EchoMethod::kUnary, 2);
  const EchoRequest request = NewRequest();
  Call(NewChannel(resilience), EchoMethod::kUnary, request);
  EXPECT_EQ(Hits(request).count(), 0);
}

// E06. New settings leave an open breaker open; a reset closes it.
TEST_P(BreakerTest, UpdateKeepsTheStateAndResetCloses) {
  const auto resilience = MakeResilience(QuickBreaker());
  const auto channel = NewChannel(resilience);
  Fail(channel, EchoMethod::kUnary, 2);
  Config config = QuickBreaker();
  config.DefaultTarget().breaker.window_calls = 10;
  ASSERT_TRUE(resilience->Update(std::move(config)).ok());
  EXPECT_EQ(Call(channel, EchoMethod::kUnary, NewRequest()).status.error_code(),
            StatusCode::UNAVAILABLE);
  ASSERT_TRUE(resilience->ResetBreaker(backend().target()).ok());
  EXPECT_TRUE(Call(channel, EchoMethod::kUnary, NewRequest()).status.ok());
}

// E08. Whoever made the Resilience object may drop it, and the channel, while
// calls are in flight.
TEST_P(BreakerTest, ResilienceMayGoWhileCallsAreInFlight) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_delay_ms(50);
  Config config = RetryConfig();
  SetBackoff(&config.DefaultMethod().retry, milliseconds(50));
  auto resilience = MakeResilience(std::move(config));
  auto channel = NewChannel(resilience);
  grpc::ClientContext context;
  EchoResponse response;
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the first attempt");
  resilience.reset();
  channel.reset();
  EXPECT_TRUE(call.Wait().status.ok());
  EXPECT_EQ(response.hit(), 2);
}

// D23. A server that hangs is noticed before the first call of it ends.
TEST_P(BreakerTest, HungCallsOpenItWhileTheyHang) {
  Config config = RetryConfig(1);
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.slow_call_rate_threshold = 1.0;
  breaker.slow_call_duration = milliseconds(100);
  breaker.window_calls = breaker.minimum_calls = 4;
  breaker.open_duration = std::chrono::minutes(1);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  std::vector<grpc::ClientContext> contexts(4);
  std::vector<EchoResponse> responses(4);
  std::vector<RunningCall> calls;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    calls.push_back(Start(style(), channel, EchoMethod::kUnary, &contexts[i],
                          request, &responses[i]));
  }
  WaitUntil(
      [&] {
        const auto breaker_now = resilience->FindBreaker(backend().target());
        return breaker_now && breaker_now->state == State::kOpen;
      },
      "the breaker opens");
  for (const RunningCall& call : calls) EXPECT_FALSE(call.done());
  const auto snapshot = resilience->FindBreaker(backend().target());
  EXPECT_EQ(snapshot->window_failures, 0);
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (RunningCall& call : calls) {
    EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  }
}

// D33. Calls that must reach a target whose breaker is open.
TEST_P(BreakerTest, BypassedMethodsGoThroughAndCountNothing) {
  Config config = QuickBreaker();
  config.Method(MethodName(EchoMethod::kReadOnly)).bypass = true;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  Call(channel, EchoMethod::kReadOnly, FailingRequest(-1));
  Call(channel, EchoMethod::kReadOnly, FailingRequest(-1));
  EXPECT_EQ(resilience->Breakers().size(), 0u);
  Fail(channel, EchoMethod::kUnary, 2);
  EXPECT_EQ(StateOf(*resilience), State::kOpen);
  const EchoRequest request = NewRequest();
  EXPECT_TRUE(Call(channel, EchoMethod::kReadOnly, request).status.ok());
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(StateOf(*resilience), State::kOpen);
  EXPECT_EQ(resilience->FindBreaker(backend().target())->rejected, 0u);
}

// D34. Callers don't wait out the usual limit in every round.
TEST_P(BreakerTest, ProbesHaveALimitOfTheirOwn) {
  Config config = QuickBreaker(milliseconds(50));
  config.DefaultMethod().retry.per_attempt_timeout = seconds(2);
  config.DefaultTarget().breaker.half_open_per_attempt_timeout =
      milliseconds(100);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const EchoRequest normal = FailingRequest(-1);
  Call(channel, EchoMethod::kUnary, normal);
  EXPECT_NEAR(Hits(normal).hits(0).time_left_ms(), 2000, 100 * TimeFactor());
  Fail(channel, EchoMethod::kUnary, 1);
  WaitUntil(
      [&] { return resilience->FindBreaker(backend().target())->probe_ready; },
      "the open time is over");
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kUnary, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 100, 40 * TimeFactor());
  EXPECT_THAT(result.status.error_message(),
              HasSubstr("half_open_per_attempt_timeout"));
  EXPECT_EQ(StateOf(*resilience), State::kOpen);
}

INSTANTIATE_TEST_SUITE_P(, BreakerTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

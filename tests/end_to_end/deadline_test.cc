// The caller's deadline bounds everything; a policy's limits only shorten it.

#include "interceptor/timer_thread.h"
#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DeadlineTest : public StyleTest {
 protected:
  CallResult CallWithin(milliseconds limit, Config config,
                        const EchoRequest& request,
                        EchoMethod method = EchoMethod::kIdempotent) {
    grpc::ClientContext context;
    SetDeadline(&context, limit);
    EchoResponse response;
    response.add_items("old");
    const CallResult result = Call(NewChannel(std::move(config)), method,
                                   &context, request, &response);
    if (!result.status.ok()) {
      EXPECT_THAT(response.items(), ElementsAre("old"));
    }
    return result;
  }
  static Config WithBackoff(Config config, Duration wait) {
    SetBackoff(&config.DefaultMethod().retry, wait);
    return config;
  }
  static Config WithAttemptLimit(Config config, Duration limit) {
    config.DefaultMethod().retry.per_attempt_timeout = limit;
    return config;
  }
};

// B01. The server is never told a longer time than the caller will wait.
TEST_P(DeadlineTest, ServerSeesWhatIsLeftOfTheCall) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_delay_ms(30);
  CallWithin(milliseconds(300),
             WithAttemptLimit(WithBackoff(RetryConfig(4), milliseconds(20)),
                              seconds(1)),
             request);
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(4));
  const double first = static_cast<double>(hits.hits(0).arrived_ns());
  for (const Observation& hit : hits.hits()) {
    const double passed = (static_cast<double>(hit.arrived_ns()) - first) / 1e6;
    EXPECT_LE(hit.time_left_ms(), 300 - passed + 20);
    EXPECT_GE(hit.time_left_ms(), 300 - passed - 100 * TimeFactor());
  }
}

// B02.
TEST_P(DeadlineTest, NothingIsSentAfterTheDeadline) {
  const EchoRequest request = FailingRequest(-1);
  const CallResult result =
      CallWithin(milliseconds(300),
                 WithBackoff(RetryConfig(50), milliseconds(100)), request);
  EXPECT_LE(Milliseconds(result.elapsed), 320 * TimeFactor());
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("DEADLINE_WOULD_PASS"));
  const HitsResponse hits = Hits(request);
  EXPECT_EQ(hits.count(), 3);  // at 0, 100 and 200 ms
  const auto first = hits.hits(0).arrived_ns();
  EXPECT_LT(hits.hits(hits.hits_size() - 1).arrived_ns() - first, 300e6);
}

// B03. A backoff that can't be followed by an attempt isn't waited for.
TEST_P(DeadlineTest, GivesUpAtOnceWhenTheBackoffDoesNotFit) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_details("d#");
  const CallResult result =
      CallWithin(milliseconds(100),
                 WithBackoff(RetryConfig(), milliseconds(200)), request);
  EXPECT_LT(Milliseconds(result.elapsed), 50 * TimeFactor());
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_EQ(result.status.error_details(), "d1");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("DEADLINE_WOULD_PASS"));
  EXPECT_EQ(Hits(request).count(), 1);
}

// B05. Without a limit per attempt, the first may take all of the call's time.
TEST_P(DeadlineTest, FirstAttemptHasTheCallersDeadline) {
  const EchoRequest request = NewRequest();
  EXPECT_TRUE(CallWithin(seconds(10), RetryConfig(), request).status.ok());
  EXPECT_NEAR(Hits(request).hits(0).time_left_ms(), 10000, 200 * TimeFactor());
}

// B05, B14. The limit of an attempt ends that attempt only.
TEST_P(DeadlineTest, AttemptLimitEndsAnAttemptNotTheCall) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  const CallResult result = CallWithin(
      seconds(5), WithAttemptLimit(RetryConfig(), milliseconds(200)), request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_NEAR(Milliseconds(result.elapsed), 210, 50 * TimeFactor());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_NEAR(hits.hits(0).time_left_ms(), 200, 30 * TimeFactor());
  EXPECT_NEAR(hits.hits(1).time_left_ms(), 200, 30 * TimeFactor());
}

// The same where no deadline of the caller's stands beside the limit: the caller's
// own call may then be the first attempt.
TEST_P(DeadlineTest, AttemptLimitWithoutACallersDeadline) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(WithAttemptLimit(RetryConfig(), milliseconds(200))),
           EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_NEAR(Milliseconds(result.elapsed), 210, 50 * TimeFactor());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_NEAR(hits.hits(0).time_left_ms(), 200, 30 * TimeFactor());
  EXPECT_NEAR(hits.hits(1).time_left_ms(), 200, 30 * TimeFactor());
  EXPECT_THAT(Seen(hits.hits(1), "grpc-previous-rpc-attempts"),
              ElementsAre("1"));
}

// Answers and limits that come at the same moment: each call ends once, with one of
// the two, and no limit is left behind.
TEST_P(DeadlineTest, AnswersAsTheLimitIsReached) {
  constexpr int kCalls = 100;
  const auto channel =
      NewChannel(WithAttemptLimit(RetryConfig(2), milliseconds(20)));
  EchoRequest request = NewRequest();
  request.mutable_script()->set_delay_ms(20);
  std::vector<grpc::ClientContext> contexts(kCalls);
  std::vector<EchoResponse> responses(kCalls);
  std::vector<RunningCall> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(Start(GetParam(), channel, EchoMethod::kIdempotent,
                          &contexts[i], request, &responses[i]));
  }
  for (RunningCall& call : calls) {
    const StatusCode code = call.Wait().status.error_code();
    EXPECT_TRUE(code == StatusCode::OK || code == StatusCode::DEADLINE_EXCEEDED)
        << code;
  }
  EXPECT_EQ(internal::TimerThread::OfProcess()->pending(), 0u);
}

// B14. The call's own deadline is never retried.
TEST_P(DeadlineTest, CallsDeadlineIsNotRetried) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  const CallResult result =
      CallWithin(milliseconds(150), RetryConfig(), request);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 150, 50 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
}

// B14, in a later attempt.
TEST_P(DeadlineTest, CallsDeadlineEndsALaterAttempt) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_hang_from(2);
  const CallResult result =
      CallWithin(milliseconds(150), RetryConfig(), request);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 150, 50 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 2);
}

// B15. The caller learns which limit it was.
TEST_P(DeadlineTest, EveryAttemptReachesItsLimit) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  const CallResult result = CallWithin(
      seconds(5), WithAttemptLimit(RetryConfig(), milliseconds(50)), request);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(), HasSubstr("per_attempt_timeout"));
  EXPECT_THAT(result.status.error_message(), HasSubstr("3"));
  EXPECT_EQ(Hits(request).count(), 3);
}

// The policy's limit of the call holds where the caller set none, and never
// lengthens the caller's.
TEST_P(DeadlineTest, PolicyTimeout) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  Config config = RetryConfig();
  config.DefaultMethod().timeout = milliseconds(150);
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(config), EchoMethod::kUnary, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 150, 50 * TimeFactor());

  request.set_key(request.key() + "again");
  const CallResult shorter =
      CallWithin(milliseconds(50), config, request, EchoMethod::kUnary);
  EXPECT_EQ(shorter.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(shorter.elapsed), 50, 40 * TimeFactor());
}

// The attempt's limit holds for calls that are never retried.
TEST_P(DeadlineTest, AttemptLimitOfAnUnretriedMethod) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(WithAttemptLimit(RetryConfig(), milliseconds(100))),
           EchoMethod::kUnary, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NEAR(Milliseconds(result.elapsed), 100, 50 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
}

// An expired call costs no attempt.
TEST_P(DeadlineTest, ExpiredBeforeTheStart) {
  const auto resilience = MakeResilience(RetryConfig());
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const EchoRequest request = NewRequest();
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(-100));
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, &context, request,
           &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), IsEmpty());
  EXPECT_EQ(Hits(request).count(), 0);
  ASSERT_THAT(log->calls(), SizeIs(1));
  EXPECT_EQ(log->calls()[0].attempts, 0);
}

// A frozen server answers nothing at all, and still every limit holds.
TEST_P(DeadlineTest, FrozenServer) {
  auto own = BackendProcess::Start(BackendPath());
  own->Freeze();
  const auto channel = CreateChannel(
      MakeResilience(WithAttemptLimit(RetryConfig(), milliseconds(50))),
      own->target(), grpc::InsecureChannelCredentials());
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, NewRequest(), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_NEAR(Milliseconds(result.elapsed), 154, 60 * TimeFactor());
}

INSTANTIATE_TEST_SUITE_P(, DeadlineTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

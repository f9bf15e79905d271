// What is retried and what isn't.

#include "grpc_resilience/rpc/v1/status.pb.h"
#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class RetryRulesTest : public StyleTest {
 protected:
  // Hits of a call that always fails.
  int HitsOf(const std::shared_ptr<grpc::Channel>& channel, EchoMethod method,
             StatusCode code = StatusCode::UNAVAILABLE) {
    const EchoRequest request = FailingRequest(-1, code);
    EXPECT_EQ(Call(channel, method, request).status.error_code(), code);
    return Hits(request).count();
  }
};

// C01. Out of the box only methods that say so in their .proto are retried.
TEST_P(RetryRulesTest, DefaultsRetryIdempotentMethodsOnly) {
  EXPECT_EQ(HitsOf(NewChannel(Config()), EchoMethod::kUnary), 1);
  EXPECT_EQ(HitsOf(NewChannel(Config()), EchoMethod::kIdempotent), 3);
  EXPECT_EQ(HitsOf(NewChannel(Config()), EchoMethod::kReadOnly), 3);
}

// C01. The caller learns why there was no second attempt.
TEST_P(RetryRulesTest, NotIdempotentIsReported) {
  const CallResult result =
      Call(NewChannel(Config()), EchoMethod::kUnary, FailingRequest(-1));
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("NOT_IDEMPOTENT"));
}

// C01. A policy for the method opts in.
TEST_P(RetryRulesTest, PolicyMakesAMethodIdempotent) {
  Config config = RetryConfig();
  config.Method(MethodName(EchoMethod::kUnary)) = config.DefaultMethod();
  config.Method(MethodName(EchoMethod::kUnary)).retry.idempotency =
      Idempotency::kIdempotent;
  EXPECT_EQ(HitsOf(NewChannel(std::move(config)), EchoMethod::kUnary), 3);
}

TEST_P(RetryRulesTest, PolicyMakesAMethodNonIdempotent) {
  Config config = RetryConfig();
  config.DefaultMethod().retry.idempotency = Idempotency::kNonIdempotent;
  EXPECT_EQ(HitsOf(NewChannel(std::move(config)), EchoMethod::kIdempotent), 1);
}

// C01. A method not known to be idempotent: only codes that say "no effect".
TEST_P(RetryRulesTest, ListedCodesOfANonIdempotentMethod) {
  Config config = RetryConfig();
  config.DefaultMethod().retry.retryable_status_codes = {
      StatusCode::UNAVAILABLE, StatusCode::RESOURCE_EXHAUSTED,
      StatusCode::ABORTED};
  const auto channel = NewChannel(std::move(config));
  EXPECT_EQ(HitsOf(channel, EchoMethod::kUnary), 3);
  EXPECT_EQ(HitsOf(channel, EchoMethod::kUnary, StatusCode::RESOURCE_EXHAUSTED),
            3);
  EXPECT_EQ(HitsOf(channel, EchoMethod::kUnary, StatusCode::ABORTED), 1);
  EXPECT_EQ(HitsOf(channel, EchoMethod::kIdempotent, StatusCode::ABORTED), 3);
}

TEST_P(RetryRulesTest, OtherCodesAreNotRetried) {
  const auto channel = NewChannel(RetryConfig());
  for (const StatusCode code :
       {StatusCode::INVALID_ARGUMENT, StatusCode::NOT_FOUND,
        StatusCode::INTERNAL, StatusCode::UNKNOWN, StatusCode::CANCELLED,
        StatusCode::RESOURCE_EXHAUSTED, StatusCode::UNIMPLEMENTED}) {
    EXPECT_EQ(HitsOf(channel, EchoMethod::kIdempotent, code), 1) << code;
  }
}

// C03. The server says "don't".
TEST_P(RetryRulesTest, PushbackStops) {
  for (const char* const pushback : {"-1", "nonsense"}) {
    EchoRequest request = FailingRequest(-1);
    request.mutable_script()->set_pushback_ms(pushback);
    const CallResult result =
        Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request);
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
                ElementsAre("PUSHBACK"));
    EXPECT_EQ(Hits(request).count(), 1);
  }
}

// C03. The server says when.
TEST_P(RetryRulesTest, PushbackSetsTheWait) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_pushback_ms("150");
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_NEAR((hits.hits(1).arrived_ns() - hits.hits(0).ended_ns()) / 1e6, 150,
              20 * TimeFactor());
}

// C03. At once, ten times.
TEST_P(RetryRulesTest, PushbackOfZero) {
  EchoRequest request = FailingRequest(9);
  request.mutable_script()->set_pushback_ms("0");
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(RetryConfig(10)), EchoMethod::kIdempotent,
                   request, &response)
                  .status.ok());
  EXPECT_EQ(response.hit(), 10);
}

// C03. A wait that doesn't fit before the deadline ends the call now.
TEST_P(RetryRulesTest, PushbackBeyondTheDeadline) {
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_pushback_ms("60000");
  grpc::ClientContext context;
  SetDeadline(&context, seconds(5));
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, &context,
           request, &response);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("DEADLINE_WOULD_PASS"));
  EXPECT_LT(Milliseconds(result.elapsed), 1000 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 1);
}

// C07. The service config's retries don't multiply with ours, unless asked to.
TEST_P(RetryRulesTest, CoreRetriesAreOffByDefault) {
  grpc::ChannelArguments args;
  args.SetServiceConfigJSON(R"({"methodConfig": [{
      "name": [{"service": "grpc_resilience.test.Echo"}],
      "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.002s",
                      "maxBackoff": "0.002s", "backoffMultiplier": 1,
                      "retryableStatusCodes": ["UNAVAILABLE"]}}]})");
  const auto hits = [&](const grpc::ChannelArguments& with) {
    return HitsOf(
        CreateChannel(MakeResilience(RetryConfig()), backend().target(),
                      grpc::InsecureChannelCredentials(), with),
        EchoMethod::kIdempotent);
  };
  EXPECT_EQ(hits(args), 3);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 1);
  EXPECT_EQ(hits(args), 9);
}

// The token bucket: half of 16 tokens may be spent on attempts that are retried.
TEST_P(RetryRulesTest, BudgetRefusesRetries) {
  Config config = RetryConfig();
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  config.DefaultTarget().throttle.limits_retries = true;
  const auto channel = NewChannel(std::move(config));
  EXPECT_EQ(HitsOf(channel, EchoMethod::kIdempotent), 3);  // 13 tokens left
  EXPECT_EQ(HitsOf(channel, EchoMethod::kIdempotent), 3);  // 10
  EXPECT_EQ(HitsOf(channel, EchoMethod::kIdempotent), 2);  // 8
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, FailingRequest(-1));  // 7
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BUDGET_EXHAUSTED"));
}

// C09. A breaker that opens ends the retries at once.
TEST_P(RetryRulesTest, OpenBreakerEndsTheRetries) {
  Config config = RetryConfig(5);
  SetBackoff(&config.DefaultMethod().retry, milliseconds(200));
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 2;
  breaker.minimum_calls = 2;
  breaker.open_duration = std::chrono::minutes(1);
  const EchoRequest request = FailingRequest(-1);
  const CallResult result =
      Call(NewChannel(std::move(config)), EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.status.error_message(), HasSubstr("circuit breaker"));
  EXPECT_THAT(result.status.error_message(), HasSubstr(backend().target()));
  EXPECT_THAT(result.status.error_message(), HasSubstr("hit 2 failed"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("2"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_LT(Milliseconds(result.elapsed), 200 + 100 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 2);
}

// C10. The breaker counts attempts, observers hear of calls and attempts.
TEST_P(RetryRulesTest, AttemptsAndCallsAreCountedApart) {
  Config config = RetryConfig();
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 3;
  breaker.minimum_calls = 3;
  breaker.open_duration = std::chrono::minutes(1);
  const auto resilience = MakeResilience(std::move(config));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = NewChannel(resilience);

  Call(channel, EchoMethod::kIdempotent, FailingRequest(-1));
  ASSERT_THAT(log->attempts(), SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(log->attempts()[i].number, i + 1);
    EXPECT_EQ(log->attempts()[i].code, StatusCode::UNAVAILABLE);
    EXPECT_EQ(log->attempts()[i].classification.outcome, Outcome::kFailure);
  }
  ASSERT_THAT(log->calls(), SizeIs(1));
  EXPECT_EQ(log->calls()[0].attempts, 3);
  EXPECT_EQ(log->calls()[0].method, MethodName(EchoMethod::kIdempotent));
  auto snapshot = resilience->FindBreaker(backend().target());
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->state, State::kOpen);
  EXPECT_EQ(snapshot->rejected, 0u);

  Call(channel, EchoMethod::kIdempotent, NewRequest());
  snapshot = resilience->FindBreaker(backend().target());
  EXPECT_EQ(snapshot->rejected, 1u);
  ASSERT_THAT(log->calls(), SizeIs(2));
  EXPECT_EQ(log->calls()[1].attempts, 0);
  EXPECT_EQ(log->calls()[1].reason, StopReason::kBreakerOpen);
  EXPECT_THAT(log->attempts(), SizeIs(3));
}

// A hint for longer than the call lives, as an open time of the breaker.
TEST_P(RetryRulesTest, AHintThatDoesNotFitMayOpenTheBreaker) {
  Config config = RetryConfig();
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  config.DefaultTarget().breaker.max_hinted_open_duration = seconds(40);
  const auto channel = NewChannel(std::move(config));
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_pushback_ms("30000");
  grpc::ClientContext context;
  SetDeadline(&context, seconds(10));
  EchoResponse response;
  const CallResult hinted =
      Call(channel, EchoMethod::kIdempotent, &context, request, &response);
  EXPECT_EQ(hinted.status.error_message(), "hit 1 failed");
  EXPECT_THAT(hinted.Trailing("grpc-resilience-reason"),
              ElementsAre("DEADLINE_WOULD_PASS"));
  const CallResult rejected = Call(channel, EchoMethod::kIdempotent, request);
  EXPECT_THAT(rejected.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_THAT(rejected.status.error_message(),
              testing::HasSubstr("UNAVAILABLE: hit 1 failed"));
  EXPECT_EQ(Hits(request).count(), 1);
}

// google.rpc.RetryInfo takes the place of the backoff.
TEST_P(RetryRulesTest, RetryInfoSaysWhenToComeBack) {
  rpc::v1::RetryInfo info;
  info.mutable_retry_delay()->set_nanos(150'000'000);
  rpc::v1::Status details;
  details.add_details()->set_type_url(
      "type.googleapis.com/google.rpc.RetryInfo");
  details.mutable_details(0)->set_value(info.SerializeAsString());
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_details(details.SerializeAsString());
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_NEAR(static_cast<double>(hits.hits(1).arrived_ns() -
                                  hits.hits(0).arrived_ns()) /
                  1e6,
              150, 30 * TimeFactor());
}

INSTANTIATE_TEST_SUITE_P(, RetryRulesTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

// How many attempts are made, what each of them sends, and what the caller gets,
// in every style of call and both ways through the library.

#include <thread>

#include "support/counting_interceptor.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AttemptsTest : public WayTest {};

// A03. A call that succeeds at once is as it would be without the library.
TEST_P(AttemptsTest, OkAtOnce) {
  const EchoRequest request = NewRequest();
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(NewChannel(RetryConfig()),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), IsEmpty());
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"), IsEmpty());
  EXPECT_EQ(Hits(request).count(), 1);
}

// A03, A13. Nothing of the failed attempts is left in the result.
TEST_P(AttemptsTest, OkOnTheThirdAttempt) {
  EchoRequest request = FailingRequest(2);
  request.mutable_script()->set_details("d#");
  request.mutable_script()->add_items("new");
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(NewChannel(RetryConfig()),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::OK);
  EXPECT_EQ(result.status.error_message(), "");
  EXPECT_EQ(result.status.error_details(), "");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("new"));
  EXPECT_EQ(response.hit(), 3);
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"), IsEmpty());
  EXPECT_LT(Milliseconds(result.elapsed), 104 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 3);
}

// A03, A07. The last attempt's status; the response is as it was before.
TEST_P(AttemptsTest, AllFail) {
  const EchoRequest request = FailingRequest(-1);
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(NewChannel(RetryConfig()),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("RETRIES_EXHAUSTED"));
  EXPECT_LT(Milliseconds(result.elapsed), 104 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 3);
}

// A03. While the breaker is open nothing is sent.
TEST_P(AttemptsTest, BreakerOpen) {
  Config config = RetryConfig();
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::minutes(1);
  const auto channel = NewChannel(std::move(config));
  EXPECT_EQ(
      Call(channel, EchoMethod::kUnary, FailingRequest(-1)).status.error_code(),
      StatusCode::UNAVAILABLE);

  const EchoRequest request = NewRequest();
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_LT(Milliseconds(result.elapsed), 100 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 0);
}

// B13, B18. max_attempts is exact and has no hidden limit.
TEST_P(AttemptsTest, MaxAttemptsIsExact) {
  for (const int max_attempts : {1, 2, 5, 10}) {
    const EchoRequest request = FailingRequest(-1);
    const CallResult result = Call(NewChannel(RetryConfig(max_attempts)),
                                   EchoMethod::kIdempotent, request);
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(Hits(request).count(), max_attempts);
  }
}

// A34. Each attempt has a context of its own, also when there are many, and one
// channel serves calls one after the other.
TEST_P(AttemptsTest, ManyAttemptsOfManyCalls) {
  const auto channel = NewChannel(RetryConfig(20));
  for (int i = 0; i < 5; ++i) {
    const EchoRequest request = FailingRequest(19);
    EchoResponse response;
    EXPECT_TRUE(
        Call(channel, EchoMethod::kReadOnly, request, &response).status.ok());
    EXPECT_EQ(response.hit(), 20);
  }
}

// A39. Interceptors before ours see one call, those after it every attempt.
TEST_P(AttemptsTest, InterceptorsBeforeSeeACallAndThoseAfterSeeAttempts) {
  auto before = std::make_shared<InterceptorLog>();
  auto after = std::make_shared<InterceptorLog>();
  InterceptorFactories factories;
  factories.push_back(std::make_unique<LoggingFactory>(before));
  factories.push_back(CreateInterceptorFactory(MakeResilience(RetryConfig()),
                                               backend().target()));
  factories.push_back(std::make_unique<LoggingFactory>(after));
  const EchoRequest request = FailingRequest(2);
  EXPECT_TRUE(
      Call(NewChannelOf(std::move(factories)), EchoMethod::kIdempotent, request)
          .status.ok());
  for (const HookPoint hook :
       {HookPoint::PRE_SEND_INITIAL_METADATA, HookPoint::PRE_SEND_MESSAGE,
        HookPoint::POST_RECV_INITIAL_METADATA, HookPoint::POST_RECV_MESSAGE,
        HookPoint::POST_RECV_STATUS}) {
    EXPECT_EQ(before->Count(hook), 1) << static_cast<int>(hook);
    EXPECT_EQ(after->Count(hook), 3) << static_cast<int>(hook);
  }
  // gRPC also makes interceptors for the part of the caller's own call that comes
  // after a hijacker; they never run.
  EXPECT_EQ(before->rpcs(), 1);
  EXPECT_LE(after->rpcs(), 4);
  WaitUntil([&] { return before->alive() + after->alive() == 0; },
            "every interceptor is gone");
}

// A05. Every attempt sends the same bytes, and interceptors after ours can look at
// them as they could without us.
TEST_P(AttemptsTest, EveryAttemptSendsTheSameBytes) {
  const bool object = ShowsRequestObject(style());
  auto after = std::make_shared<InterceptorLog>();
  InterceptorFactories inner;
  inner.push_back(std::make_unique<LoggingFactory>(
      after, object ? LoggingFactory::MessageView::kObject
                    : LoggingFactory::MessageView::kSerialized));
  const auto channel =
      NewChannel(MakeResilience(RetryConfig()), std::move(inner));
  EchoRequest request = FailingRequest(2);
  request.set_data(std::string("\0\xff", 2));
  EXPECT_TRUE(Call(channel, EchoMethod::kIdempotent, request).status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(3));
  EXPECT_EQ(hits.hits(1).request_hash(), hits.hits(0).request_hash());
  EXPECT_EQ(hits.hits(2).request_hash(), hits.hits(0).request_hash());
  EXPECT_THAT(after->messages(), SizeIs(3));
  EXPECT_THAT(after->messages(), Each(request.SerializeAsString()));
}

// A40. No hidden limit for the size of a request that can be retried.
TEST_P(AttemptsTest, LargeRequestIsRetried) {
  EchoRequest request = FailingRequest(1);
  request.set_data(std::string(8 << 20, 'x'));
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_GT(hits.hits(0).request_bytes(), 8 << 20);
  EXPECT_EQ(hits.hits(1).request_bytes(), hits.hits(0).request_bytes());
  EXPECT_EQ(hits.hits(1).request_hash(), hits.hits(0).request_hash());
}

// Large responses arrive whole after a retry.
TEST_P(AttemptsTest, LargeResponseAfterARetry) {
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_response_bytes(2 << 20);
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request,
                   &response)
                  .status.ok());
  EXPECT_THAT(response.data(), SizeIs(2 << 20));
}

// The caller may delete everything as early as its style allows.
TEST_P(AttemptsTest, CallerDeletesEverythingAtTheEnd) {
  const auto channel = NewChannel(RetryConfig());
  for (const int failures : {0, 2, 3}) {
    const CallResult result =
        StartSelfDeleting(style(), channel, EchoMethod::kIdempotent, {},
                          FailingRequest(failures))
            .Wait();
    EXPECT_EQ(result.status.ok(), failures < 3);
  }
}

INSTANTIATE_TEST_SUITE_P(, AttemptsTest, AllWays(), WayName);

class ReusedContextDeathTest : public EndToEndTest {};

// A34. A caller that uses its context for two calls gets what gRPC always gave.
TEST_F(ReusedContextDeathTest, AbortsAsWithoutUs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const auto channel = NewChannel(RetryConfig());
        grpc::ClientContext context;
        EchoResponse response;
        Call(CallStyle::kSync, channel, EchoMethod::kIdempotent, &context,
             FailingRequest(1), &response);
        Call(CallStyle::kSync, channel, EchoMethod::kIdempotent, &context,
             FailingRequest(1), &response);
      },
      "");
}

}  // namespace
}  // namespace grpc_resilience::test

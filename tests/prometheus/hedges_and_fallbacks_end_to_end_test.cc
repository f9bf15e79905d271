// What hedged calls and fallbacks count, against a real server, in every style and
// all ways through the library.

#include <string>

#include "grpc_resilience/function_fallback.h"
#include "grpc_resilience/stale_cache.h"
#include "grpc_resilience/static_response.h"
#include "prometheus/metrics_test.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

class HedgeMetricsTest : public MetricsTest {
 protected:
  Config HedgingConfig(Duration delay, int max_attempts) const {
    Config config = RetryConfig();
    HedgingPolicy& hedging = config.DefaultMethod().hedging.emplace();
    hedging.hedging_delay = delay;
    hedging.max_hedged_attempts = max_attempts;
    return config;
  }
};

TEST_P(HedgeMetricsTest, AHedgeIsAnAttemptAndNoRetry) {
  const auto resilience = MakeResilience(HedgingConfig(milliseconds(20), 2));
  const auto observer = NewObserver(resilience);
  EXPECT_EQ(Scrape(*observer).Sum(kHedgesMetric, Labels()), 0);
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, request);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  // The loser's end may come after the call's.
  WaitUntil(
      [&] { return Scrape(*observer).Sum(kAttemptsMetric, Labels()) == 2; },
      "both attempts are counted");
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kHedgesMetric, Labels()), 1);
  EXPECT_EQ(scrape.Sum(kHedgesMetric), 1);
  EXPECT_EQ(scrape.Sum(kRetriesMetric), 0);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("OK")), 1);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("CANCELLED")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("OK")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric), 1);
}

TEST_P(HedgeMetricsTest, AnAnswerInTimeIsNoHedge) {
  const auto resilience = MakeResilience(HedgingConfig(seconds(30), 3));
  const auto observer = NewObserver(resilience);
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, NewRequest());
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kHedgesMetric), 0);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric), 1);
}

// One after another because each fails at once.
TEST_P(HedgeMetricsTest, HedgesThatFailAreCountedByCode) {
  const auto resilience = MakeResilience(HedgingConfig(seconds(30), 3));
  const auto observer = NewObserver(resilience);
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, FailingRequest(-1));
  ASSERT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kHedgesMetric, Labels()), 2);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("UNAVAILABLE")), 3);
  EXPECT_EQ(scrape.Sum(kRetriesMetric), 0);
}

INSTANTIATE_TEST_SUITE_P(, HedgeMetricsTest, AllWays(), WayName);

class FallbackMetricsTest : public MetricsTest {
 protected:
  static LabelValues Asked(const std::string& kind, const std::string& result) {
    LabelValues labels = Labels();
    labels["kind"] = kind;
    labels["result"] = result;
    return labels;
  }
  /// What a call that fails thrice counts.
  Scrape AfterOneCall(std::vector<std::shared_ptr<FallbackSource>> fallbacks,
                      StatusCode expected) {
    Config config = RetryConfig(3);
    config.DefaultMethod().fallbacks = std::move(fallbacks);
    const auto resilience = MakeResilience(std::move(config));
    const auto observer = NewObserver(resilience);
    EXPECT_EQ(Scrape(*observer).Sum(kFallbacksMetric,
                                    Asked("static_response", "answered")),
              0);
    const CallResult result = Call(NewChannel(resilience),
                                   EchoMethod::kIdempotent, FailingRequest(-1));
    EXPECT_EQ(result.status.error_code(), expected);
    WaitUntil(
        [&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
        "the call is counted");
    return Scrape(*observer);
  }
};

// I02. The call counts as what it came to before it was answered.
TEST_P(FallbackMetricsTest, EachThatIsAskedIsCountedAndTheCallStaysAFailure) {
  EchoResponse flat_rate;
  flat_rate.add_items("flat rate");
  FunctionOptions options;
  options.thread = FallbackThread::kInline;
  const auto declines = Fallback<EchoRequest, EchoResponse>(
      [](const EchoRequest&, const FailedCall&)
          -> FallbackResult<EchoResponse> { return Decline(); },
      options);
  const Scrape scrape = AfterOneCall(
      {std::make_shared<StaleCache>(), declines,
       ScriptedFallback::Declining("no"), StaticResponse(flat_rate),
       ScriptedFallback::Answering("never asked")},
      StatusCode::OK);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("stale_cache", "failed")), 1);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("function", "failed")), 1);
  // A kind of the application's own.
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("other", "failed")), 1);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("static_response", "answered")),
            1);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric), 4);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("UNAVAILABLE")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("OK")), 0);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("UNAVAILABLE")), 3);
}

TEST_P(FallbackMetricsTest, NoneThatAnswersLeavesTheCallAsItWas) {
  const Scrape scrape = AfterOneCall({ScriptedFallback::Declining("no")},
                                     StatusCode::UNAVAILABLE);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("other", "failed")), 1);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("UNAVAILABLE")), 1);
}

// With an open breaker there is no attempt at all.
TEST_P(FallbackMetricsTest, ARejectedCallIsAnsweredAndCountedAsRejected) {
  Config config = RetryConfig(1);
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  config.DefaultMethod().fallbacks = {ScriptedFallback::Answering("fallback")};
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = NewObserver(resilience);
  const auto channel = NewChannel(resilience);
  resilience->registry()
      .GetOrCreate({backend().target(), ""})
      ->ForceMode(OperatorMode::kForcedOpen, std::nullopt, "test");
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, NewRequest());
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, Asked("other", "answered")), 1);
  EXPECT_EQ(scrape.Sum(kRejectedMetric, Labels()), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("UNAVAILABLE")), 1);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric), 0);
}

// A good call asks none.
TEST_P(FallbackMetricsTest, NotNeeded) {
  Config config = RetryConfig(3);
  config.DefaultMethod().fallbacks = {ScriptedFallback::Answering("fallback")};
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = NewObserver(resilience);
  Call(NewChannel(resilience), EchoMethod::kIdempotent, FailingRequest(2));
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");
  EXPECT_EQ(Scrape(*observer).Sum(kFallbacksMetric), 0);
  EXPECT_EQ(Scrape(*observer).Sum(kCallsMetric, Labels("OK")), 1);
}

INSTANTIATE_TEST_SUITE_P(, FallbackMetricsTest, AllWays(), WayName);

// Methods under a pattern are "other", unless something names them.
class PatternMetricsTest : public EndToEndTest {};

TEST_F(PatternMetricsTest, APatternIsNoName) {
  Config config = RetryConfig(1);
  config.Method("/grpc_resilience.test.Echo/*").retry.max_attempts = 1;
  config.Method(MethodName(EchoMethod::kUnary)).retry.max_attempts = 1;
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = PrometheusObserver::Create(resilience);
  ASSERT_TRUE(observer.ok()) << observer.status();
  const auto channel = NewChannel(resilience);
  for (const EchoMethod method :
       {EchoMethod::kUnary, EchoMethod::kIdempotent}) {
    grpc::ClientContext context;
    EchoResponse response;
    ASSERT_TRUE(test::Call(CallStyle::kSync, channel, method, &context,
                           NewRequest(), &response)
                    .status.ok());
  }
  const Scrape scrape(**observer);
  EXPECT_EQ(
      scrape.Sum(kCallsMetric, {{"method", MethodName(EchoMethod::kUnary)}}),
      1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"method", "other"}}), 1);
  EXPECT_THAT(
      scrape.Values("method"),
      testing::UnorderedElementsAre("other", MethodName(EchoMethod::kUnary)));
}

}  // namespace
}  // namespace grpc_resilience::test

// What real calls count, in every style and all ways through the library.

#include <grpcpp/generic/generic_stub.h>

#include "grpc_resilience/metric_names.h"
#include "grpc_resilience/prometheus_observer.h"
#include "prometheus/sample_reader.h"
#include "support/end_to_end_test.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

class MetricsTest : public WayTest {
 protected:
  static std::shared_ptr<PrometheusObserver> NewObserver(
      const std::shared_ptr<Resilience>& resilience) {
    PrometheusOptions options;
    options.targets = {backend().target()};
    options.methods = {MethodName(EchoMethod::kIdempotent)};
    auto observer = PrometheusObserver::Create(resilience, options);
    EXPECT_TRUE(observer.ok()) << observer.status();
    return *std::move(observer);
  }
  static LabelValues Labels(const char* code = nullptr) {
    LabelValues labels = {{"target", backend().target()},
                          {"method", MethodName(EchoMethod::kIdempotent)}};
    if (code != nullptr) labels["code"] = code;
    return labels;
  }
};

// F05
TEST_P(MetricsTest, RetriesAreVisibleAndApartFromCalls) {
  constexpr milliseconds kBackoff(20);
  Config config = RetryConfig(3);
  SetBackoff(&config.DefaultMethod().retry, kBackoff);
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = NewObserver(resilience);
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, FailingRequest(2));
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");

  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("OK")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric), 1);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("UNAVAILABLE")), 2);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, Labels("OK")), 1);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric), 3);
  EXPECT_EQ(scrape.Sum(kRetriesMetric, Labels()), 2);
  EXPECT_EQ(scrape.Sum(kCallDurationMetric, Labels()), 1);
  EXPECT_EQ(scrape.Sum(kAttemptDurationMetric, Labels()), 3);
  const double backoffs = 2 * std::chrono::duration<double>(kBackoff).count();
  EXPECT_GE(scrape.HistogramSum(kCallDurationMetric, Labels()), backoffs);
  EXPECT_LE(scrape.HistogramSum(kCallDurationMetric, Labels()),
            std::chrono::duration<double>(result.elapsed).count());
  EXPECT_LE(scrape.HistogramSum(kAttemptDurationMetric, Labels()),
            scrape.HistogramSum(kCallDurationMetric, Labels()) - backoffs);
}

// F06
TEST_P(MetricsTest, ARejectionIsCountedOnce) {
  Config config = RetryConfig(3);
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.consecutive_failures = 3;
  breaker.open_duration = std::chrono::minutes(10);
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = NewObserver(resilience);
  const auto channel = NewChannel(resilience);
  Call(channel, EchoMethod::kIdempotent, FailingRequest(-1));
  ASSERT_EQ(resilience->FindBreaker(backend().target())->state, State::kOpen);
  for (int i = 0; i < 10; ++i) {
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, NewRequest());
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  }
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 11; },
            "the calls are counted");

  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kRejectedMetric, Labels()), 10);
  EXPECT_EQ(scrape.Sum(kRejectedMetric), 10);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("UNAVAILABLE")), 11);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric), 3);
  EXPECT_EQ(scrape.Sum(kRetriesMetric), 2);
  EXPECT_EQ(scrape.Sum(kBreakerStateMetric,
                       {{"target", backend().target()}, {"state", "open"}}),
            1);
  EXPECT_EQ(scrape.Sum(kBreakerStateMetric), 1);
}

// I02
TEST_P(MetricsTest, ACallAnsweredByAFallbackCountsAsFailed) {
  Config config = RetryConfig(1);
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  config.DefaultTarget().breaker.consecutive_failures = 1;
  config.DefaultTarget().breaker.open_duration = std::chrono::minutes(10);
  config.DefaultMethod().fallbacks = {ScriptedFallback::Declining(""),
                                      ScriptedFallback::Answering("answer")};
  const auto resilience = MakeResilience(std::move(config));
  const auto observer = NewObserver(resilience);
  const CallResult result =
      Call(NewChannel(resilience), EchoMethod::kIdempotent, FailingRequest(-1));
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(resilience->FindBreaker(backend().target())->state, State::kOpen);
  WaitUntil([&] { return Scrape(*observer).Sum(kCallsMetric, Labels()) == 1; },
            "the call is counted");

  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric, Labels("UNAVAILABLE")), 1);
  LabelValues fallbacks = Labels();
  fallbacks["result"] = "answered";
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, fallbacks), 1);
  fallbacks["result"] = "failed";
  EXPECT_EQ(scrape.Sum(kFallbacksMetric, fallbacks), 1);
}

INSTANTIATE_TEST_SUITE_P(, MetricsTest, AllWays(), WayName);

// Every name that a client can think of goes through the library.
class GenericNamesTest : public EndToEndTest {};

// F01
TEST_F(GenericNamesTest, MethodNamesOfAGenericStubAreNoLabels) {
  const auto resilience = MakeResilience(RetryConfig());
  auto observer = PrometheusObserver::Create(resilience);
  ASSERT_TRUE(observer.ok()) << observer.status();
  grpc::GenericStub stub(NewChannel(resilience));
  constexpr int kNames = 300;
  for (int i = 0; i < kNames; ++i) {
    grpc::ClientContext context;
    SetDeadline(&context, seconds(30));
    grpc::CompletionQueue queue;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
    grpc::Status status;
    const auto call = stub.PrepareUnaryCall(
        &context, "/random/" + std::to_string(i), request, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  }
  const Scrape scrape(**observer);
  EXPECT_THAT(scrape.Values("method"), testing::ElementsAre("other"));
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"code", "UNIMPLEMENTED"}}), kNames);
}

}  // namespace
}  // namespace grpc_resilience::test

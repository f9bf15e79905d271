// What is counted of calls: events in, samples out.

#include "grpc_resilience/prometheus_observer.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "prometheus/observer_test.h"

namespace grpc_resilience::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr char kGet[] = "/shop.Inventory/Get";
constexpr char kPut[] = "/shop.Inventory/Put";

class PrometheusObserverTest : public ObserverTest {
 protected:
  static Config ConfigWithGet() {
    Config config;
    config.Method(kGet);
    config.Target("a:1");
    return config;
  }
};

TEST_F(PrometheusObserverTest, CallsAndAttemptsAreCountedApart) {
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  // 3 attempts of one call
  observer->OnAttemptEnd(Attempt(kGet, 1, StatusCode::UNAVAILABLE));
  observer->OnAttemptEnd(Attempt(kGet, 2, StatusCode::UNAVAILABLE));
  observer->OnAttemptEnd(Attempt(kGet, 3));
  observer->OnCallEnd(Call(kGet));
  // and 1 of another
  observer->OnAttemptEnd(Attempt(kGet, 1, StatusCode::NOT_FOUND));
  observer->OnCallEnd(
      Call(kGet, StatusCode::NOT_FOUND, StopReason::kNotRetryable));

  const Scrape scrape(*observer);
  const LabelValues get = {{"target", "a:1"}, {"method", kGet}};
  auto with = [&get](const std::string& code) {
    LabelValues labels = get;
    labels["code"] = code;
    return labels;
  };
  EXPECT_EQ(scrape.Sum(kCallsMetric, with("OK")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, with("NOT_FOUND")), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, with("UNAVAILABLE")), 0);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, with("UNAVAILABLE")), 2);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, with("OK")), 1);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric, with("NOT_FOUND")), 1);
  EXPECT_EQ(scrape.Sum(kRetriesMetric, get), 2);
  EXPECT_EQ(scrape.Sum(kRejectedMetric, get), 0);
}

TEST_F(PrometheusObserverTest, CodesThatGrpcDoesNotDefineAreOneLabel) {
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  for (const int code : {17, 31, -1, -2}) {
    observer->OnCallEnd(Call(kGet, static_cast<StatusCode>(code)));
  }
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"code", "other"}}), 4);
  EXPECT_EQ(scrape.Sum(kCallsMetric), 4);
}

TEST_F(PrometheusObserverTest, RejectionsRefusalsHedgesAndFallbacks) {
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  observer->OnCallEnd(
      Call(kGet, StatusCode::UNAVAILABLE, StopReason::kBreakerOpen));
  observer->OnCallEnd(
      Call(kGet, StatusCode::UNAVAILABLE, StopReason::kRetriesExhausted));
  observer->OnBudgetRefusal({"a:1", kGet, 1});
  observer->OnBudgetRefusal({"a:1", kGet, 2});
  FallbackEvent fallback;
  fallback.target = "a:1";
  fallback.method = kGet;
  fallback.kind = "stale_cache";
  observer->OnFallback(fallback);  // it had nothing
  fallback.kind = "static_response";
  fallback.answered = true;
  observer->OnFallback(fallback);
  fallback.kind = "something new";
  observer->OnFallback(fallback);

  const Scrape scrape(*observer);
  const LabelValues get = {{"target", "a:1"}, {"method", kGet}};
  EXPECT_EQ(scrape.Sum(kRejectedMetric, get), 1);
  EXPECT_EQ(scrape.Sum(kBudgetRefusalsMetric, get), 2);
  auto fallbacks = [&](const char* kind, const char* result) {
    return scrape.Sum(kFallbacksMetric, {{"kind", kind}, {"result", result}});
  };
  EXPECT_EQ(fallbacks("stale_cache", "failed"), 1);
  EXPECT_EQ(fallbacks("stale_cache", "answered"), 0);
  EXPECT_EQ(fallbacks("static_response", "answered"), 1);
  EXPECT_EQ(fallbacks("other", "answered"), 1);
  EXPECT_EQ(scrape.Sum(kFallbacksMetric), 3);
}

// A hedge is told when it begins, an attempt when it ends.
TEST_F(PrometheusObserverTest, HedgesAreNotRetries) {
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  observer->OnAttemptEnd(Attempt(kGet, 1));
  observer->OnAttemptEnd(Attempt(kGet, 2));
  EXPECT_EQ(Scrape(*observer).Sum(kRetriesMetric), 1);
  // A hedged call: 2 and 3 are under way, then all end.
  observer->OnHedge({"a:1", kGet, 2});
  observer->OnHedge({"a:1", kGet, 3});
  EXPECT_EQ(Scrape(*observer).Sum(kRetriesMetric), 1);  // never less
  for (int number = 1; number <= 3; ++number) {
    observer->OnAttemptEnd(Attempt(kGet, number));
  }
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kRetriesMetric), 1);
  EXPECT_EQ(scrape.Sum(kHedgesMetric), 2);
}

TEST_F(PrometheusObserverTest, DurationsGoIntoBucketsUpToTheirBound) {
  PrometheusOptions options;
  options.duration_buckets = {0.001, 0.25, 2};
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience, options);
  for (const Duration duration :
       {Duration(0), Duration(milliseconds(1)), Duration(1000001),
        Duration(milliseconds(250)), Duration(seconds(3))}) {
    observer->OnCallEnd(Call(kGet, StatusCode::OK, StopReason::kOk, duration));
  }
  observer->OnAttemptEnd(Attempt(kGet, 1, StatusCode::OK, seconds(1)));

  const Scrape scrape(*observer);
  for (const auto& family : scrape.families()) {
    if (family.name != kCallDurationMetric) continue;
    for (const auto& metric : family.metric) {
      if (metric.histogram.sample_count == 0) continue;
      std::vector<std::uint64_t> counts;
      for (const auto& bucket : metric.histogram.bucket) {
        counts.push_back(bucket.cumulative_count);
      }
      // ≤ 1 ms: 2, ≤ 250 ms: 4, ≤ 2 s: 4, +Inf: 5
      EXPECT_THAT(counts, testing::ElementsAre(2, 4, 4, 5));
    }
  }
  EXPECT_EQ(scrape.Sum(kCallDurationMetric), 5);
  EXPECT_NEAR(scrape.HistogramSum(kCallDurationMetric), 3.252, 1e-3);
  EXPECT_NEAR(scrape.HistogramSum(kAttemptDurationMetric), 1, 1e-9);
}

TEST_F(PrometheusObserverTest, SeriesOfWhatIsNamedExistFromTheStart) {
  Config config = ConfigWithGet();
  config.Method("/shop.Orders/*");
  config.Target("b:1").Method(kPut);
  PrometheusOptions options;
  options.targets = {"c:1"};
  options.methods = {"/shop.Extra/Do"};
  const auto resilience = NewResilience(config);
  const Observer observer = NewObserver(resilience, options);
  const Scrape scrape(*observer);
  auto has = [&](const char* target, const char* method) {
    const LabelValues labels = {{"target", target}, {"method", method}};
    for (const char* metric :
         {kCallsMetric, kAttemptsMetric, kRetriesMetric, kRejectedMetric,
          kBudgetRefusalsMetric, kHedgesMetric, kFallbacksMetric,
          kCallDurationMetric, kAttemptDurationMetric}) {
      if (scrape.Sum(metric, labels) != 0) return false;
    }
    return true;
  };
  for (const char* target : {"a:1", "b:1", "c:1"}) {
    EXPECT_TRUE(has(target, kGet)) << target;
    EXPECT_TRUE(has(target, "/shop.Extra/Do")) << target;
    EXPECT_TRUE(has(target, "other")) << target;
    EXPECT_EQ(scrape.Sum(kBreakerStateMetric,
                         {{"target", target}, {"state", "closed"}}),
              1);
  }
  EXPECT_TRUE(has("b:1", kPut));
  EXPECT_FALSE(has("a:1", kPut));  // only b:1 names it
  EXPECT_THAT(scrape.Values("method"), Not(Contains("/shop.Orders/*")));
}

TEST_F(PrometheusObserverTest, NamesThatComeWithAnUpdateAreLearned) {
  const auto resilience = NewResilience();
  const Observer observer = NewObserver(resilience);
  observer->OnCallEnd(Call(kGet));
  EXPECT_EQ(Scrape(*observer).Sum(kCallsMetric, {{"method", "other"}}), 1);
  ASSERT_TRUE(resilience->Update(ConfigWithGet()).ok());
  EXPECT_EQ(Scrape(*observer).Sum(kCallsMetric, {{"method", kGet}}), 0);
  observer->OnCallEnd(Call(kGet));
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"method", kGet}}), 1);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"method", "other"}}), 1);
}

// One byte that isn't UTF-8 costs Prometheus the whole scrape.
TEST_F(PrometheusObserverTest, LabelsAreSafeToShow) {
  const auto resilience = NewResilience();
  const Observer observer = NewObserver(resilience);
  CallEvent call = Call(kGet);
  call.target = "a\xff\n\"b\\";
  observer->OnCallEnd(call);
  EXPECT_THAT(Scrape(*observer).Values("target"),
              Contains("a\\xff\\n\\\"b\\\\"));
}

TEST_F(PrometheusObserverTest, OutlivesTheResilience) {
  auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  observer->OnCallEnd(Call(kGet));
  resilience.reset();
  EXPECT_EQ(Scrape(*observer).Sum(kCallsMetric, {{"method", kGet}}), 1);
}

TEST_F(PrometheusObserverTest, EveryFaultOfTheOptionsIsNamed) {
  PrometheusOptions options;
  options.max_targets = 0;
  options.max_methods = 100001;
  options.max_pairs = -1;
  options.max_breakers = 0;
  options.methods = {"Get", "/shop.Inventory/*", kGet};
  options.duration_buckets = {-1, 0.1, 0.1};
  const auto observer = PrometheusObserver::Create(NewResilience(), options);
  ASSERT_FALSE(observer.ok());
  EXPECT_THAT(
      std::string(observer.status().message()),
      AllOf(HasSubstr("max_targets = 0: must be in [1, 100000]"),
            HasSubstr("max_methods = 100001"), HasSubstr("max_pairs = -1"),
            HasSubstr("max_breakers = 0"),
            HasSubstr("methods = \"Get\": must be \"/pkg.Service/Method\""),
            HasSubstr("methods = \"/shop.Inventory/*\""),
            HasSubstr("duration_buckets[0] = -1"),
            HasSubstr("duration_buckets[2] = 0.1: must be more")));
  EXPECT_FALSE(PrometheusObserver::Create(nullptr).ok());
}

TEST_F(PrometheusObserverTest, NothingIsLostBetweenThreads) {
  const auto resilience = NewResilience(ConfigWithGet());
  const Observer observer = NewObserver(resilience);
  constexpr int kThreads = 4;
  constexpr int kCalls = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&observer, i] {
      const std::string own = "target " + std::to_string(i);
      for (int n = 0; n < kCalls; ++n) {
        observer->OnAttemptEnd(Attempt(kGet, n % 2 + 1));
        CallEvent call = Call(kGet);
        if (n % 4 == 0) call.target = own;
        observer->OnCallEnd(call);
      }
    });
  }
  double last = 0;
  for (int i = 0; i < 20; ++i) {
    const double now = Scrape(*observer).Sum(kCallsMetric);
    EXPECT_GE(now, last);
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric), kThreads * kCalls);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"target", "target 0"}}), kCalls / 4);
  EXPECT_EQ(scrape.Sum(kAttemptsMetric), kThreads * kCalls);
  EXPECT_EQ(scrape.Sum(kRetriesMetric), kThreads * kCalls / 2);
  EXPECT_EQ(scrape.Sum(kCallDurationMetric), kThreads * kCalls);
}

}  // namespace
}  // namespace grpc_resilience::test

// However many names there are, the series are few.

#include <random>
#include <string>

#include "prometheus/observer_test.h"

namespace grpc_resilience::test {
namespace {

using testing::IsSubsetOf;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr char kGet[] = "/shop.Inventory/Get";

class CardinalityTest : public ObserverTest {
 protected:
  static std::string RandomName() {
    static std::mt19937_64 random(1);
    return std::to_string(random());
  }
};

// F01
TEST_F(CardinalityTest, RandomMethodsAreOneLabel) {
  Config config;
  config.Method(kGet);
  config.Target("a:1").breaker.scope = BreakerScope::kTargetAndMethod;
  const auto resilience = NewResilience(config);
  const Observer observer = NewObserver(resilience);
  const std::size_t at_first = Scrape(*observer).series();
  for (int i = 0; i < 50000; ++i) {
    const std::string method = "/" + RandomName() + "/" + RandomName();
    observer->OnAttemptEnd(Attempt(method));
    observer->OnCallEnd(Call(method));
    if (i % 10 == 0) {
      resilience->registry().GetOrCreate(
          resilience->BreakerKeyFor("a:1", method));
    }
  }
  observer->OnCallEnd(Call(kGet));

  const Scrape scrape(*observer);
  EXPECT_THAT(scrape.Values("method"), UnorderedElementsAre(kGet, "other"));
  EXPECT_THAT(scrape.Values("target"), UnorderedElementsAre("a:1"));
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"method", "other"}}), 50000);
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"method", kGet}}), 1);
  EXPECT_LE(scrape.series(), observer->max_series());
  // Only the breakers of the unknown methods, together.
  EXPECT_LT(scrape.series(), at_first + 50);
  // No label of a peer or a port.
  EXPECT_THAT(scrape.LabelNames(),
              IsSubsetOf({"target", "method", "key", "code", "kind", "result",
                          "state", "mode", "from", "to", "reason", "cause"}));
}

// F01: the same of targets, and of breakers.
TEST_F(CardinalityTest, TargetsBeyondTheCapAreOneLabel) {
  const auto resilience = NewResilience();
  PrometheusOptions options;
  options.max_targets = 10;
  const Observer observer = NewObserver(resilience, options);
  for (int i = 0; i < 5000; ++i) {
    const std::string target = "10.0.0.1:" + std::to_string(i);
    CallEvent call = Call(kGet);
    call.target = target;
    observer->OnCallEnd(call);
    resilience->registry().GetOrCreate({target, ""});
  }
  const Scrape scrape(*observer);
  EXPECT_THAT(scrape.Values("target"), SizeIs(11));
  EXPECT_EQ(scrape.Sum(kCallsMetric, {{"target", "other"}}), 4990);
  EXPECT_EQ(scrape.Sum(kBreakersMetric, {{"state", "closed"}}), 5000);
  EXPECT_EQ(scrape.Sum(kBreakerStateMetric), 11);
  EXPECT_LE(scrape.series(), observer->max_series());
}

TEST_F(CardinalityTest, PairsAndBreakersHaveCapsOfTheirOwn) {
  PrometheusOptions options;
  options.max_pairs = 5;
  options.max_breakers = 3;
  Config config;
  config.DefaultTarget().breaker.scope = BreakerScope::kKeyFunction;
  config.DefaultTarget().breaker.key_function = [](std::string_view target,
                                                   std::string_view) {
    return "key of " + std::string(target);
  };
  for (int i = 0; i < 10; ++i) {
    config.Method("/shop.Inventory/Get" + std::to_string(i));
  }
  const auto resilience = NewResilience(config);
  const Observer observer = NewObserver(resilience, options);
  for (int target = 0; target < 10; ++target) {
    const std::string name = "t" + std::to_string(target);
    for (int method = 0; method < 10; ++method) {
      const std::string called = "/shop.Inventory/Get" + std::to_string(method);
      CallEvent call = Call(called);
      call.target = name;
      observer->OnCallEnd(call);
    }
    resilience->registry().GetOrCreate(resilience->BreakerKeyFor(name, "/m"));
  }
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kCallsMetric), 100);
  EXPECT_EQ(
      scrape.Sum(kCallsMetric, {{"target", "other"}, {"method", "other"}}), 95);
  EXPECT_THAT(scrape.LabelSets(kRetriesMetric), SizeIs(6));
  // 3 keys and all the others
  EXPECT_EQ(scrape.Sum(kBreakerStateMetric), 4);
  EXPECT_THAT(scrape.Values("key"), SizeIs(3));
  EXPECT_LE(scrape.series(), observer->max_series());
}

// The bound is met, not only kept.
TEST_F(CardinalityTest, TheDocumentedBoundIsTheMostThereCanBe) {
  PrometheusOptions options;
  options.max_targets = 2;
  options.max_pairs = 2;
  options.max_breakers = 2;
  const auto resilience = NewResilience();
  const Observer observer = NewObserver(resilience, options);
  for (const char* target : {"a", "b", "c", "d"}) {
    CallEvent call = Call(kGet);
    call.target = target;
    observer->OnCallEnd(call);
    resilience->registry().GetOrCreate({target, ""});
  }
  EXPECT_EQ(Scrape(*observer).series(), observer->max_series());
  // As README says: 140 for each pair, 30 for each breaker, and 3.
  EXPECT_EQ(observer->max_series(), 3u * 140 + 3u * 32 + 3);
}

}  // namespace
}  // namespace grpc_resilience::test

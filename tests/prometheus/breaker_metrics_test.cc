// What is shown of circuit breakers.

#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include "grpc_resilience/testing/recording_observer.h"
#include "prometheus/observer_test.h"

namespace grpc_resilience::test {
namespace {

using std::chrono::seconds;
using testing::Each;

class BreakerMetricsTest : public ObserverTest {
 protected:
  // Opens after 2 failures, for 1 s.
  static Config QuickToOpen() {
    Config config;
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.failure_rate_threshold = 0.5;
    breaker.minimum_calls = 2;
    breaker.open_duration = seconds(1);
    breaker.half_open_calls = 1;
    return config;
  }
  static void Fail(CircuitBreaker& breaker, int times = 2) {
    for (int i = 0; i < times; ++i) {
      breaker.TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE);
    }
  }
  static double StateIs(const Scrape& scrape, const char* target,
                        const char* state) {
    return scrape.Sum(kBreakerStateMetric,
                      {{"target", target}, {"state", state}});
  }
  /// The sum over the states, by breaker.
  static std::vector<double> Ones(const Scrape& scrape) {
    std::map<std::tuple<std::string, std::string, std::string>, double> ones;
    for (LabelValues labels : scrape.LabelSets(kBreakerStateMetric)) {
      ones[{labels["target"], labels["method"], labels["key"]}] +=
          scrape.Sum(kBreakerStateMetric, labels);
    }
    std::vector<double> sums;
    for (const auto& [key, sum] : ones) sums.push_back(sum);
    return sums;
  }
};

// F04
TEST_F(BreakerMetricsTest, ExactlyOneStateIsOne) {
  const auto resilience = NewResilience(QuickToOpen());
  const Observer observer = NewObserver(resilience);
  const auto breaker = resilience->registry().GetOrCreate({"a:1", ""});
  {
    const Scrape scrape(*observer);
    EXPECT_EQ(StateIs(scrape, "a:1", "closed"), 1);
    EXPECT_EQ(StateIs(scrape, "a:1", "open"), 0);
    EXPECT_EQ(StateIs(scrape, "a:1", "half_open"), 0);
  }
  Fail(*breaker);
  {
    const Scrape scrape(*observer);
    EXPECT_EQ(StateIs(scrape, "a:1", "closed"), 0);
    EXPECT_EQ(StateIs(scrape, "a:1", "open"), 1);
    EXPECT_EQ(StateIs(scrape, "a:1", "half_open"), 0);
    EXPECT_EQ(scrape.Sum(kBreakersMetric, {{"state", "open"}}), 1);
  }
  clock_->Advance(seconds(1));
  std::optional<Permit> probe = breaker->TryAcquire();
  {
    const Scrape scrape(*observer);
    EXPECT_EQ(StateIs(scrape, "a:1", "closed"), 0);
    EXPECT_EQ(StateIs(scrape, "a:1", "open"), 0);
    EXPECT_EQ(StateIs(scrape, "a:1", "half_open"), 1);
  }
  probe->Record(Outcome::kSuccess);
  EXPECT_EQ(StateIs(Scrape(*observer), "a:1", "closed"), 1);
}

// F04: in every scrape of a random walk, and the counter is what was told.
TEST_F(BreakerMetricsTest, TransitionsAreTheEvents) {
  const auto resilience = NewResilience(QuickToOpen());
  const Observer observer = NewObserver(resilience);
  const auto recorder = std::make_shared<RecordingObserver>();
  resilience->AddObserver(recorder);
  std::mt19937 random(7);
  for (int step = 0; step < 3000; ++step) {
    const BreakerKey key{"t" + std::to_string(random() % 3), ""};
    const auto breaker = resilience->registry().GetOrCreate(key);
    switch (random() % 50) {
      case 0:
        breaker->Reset();
        break;
      case 1:
        breaker->ForceMode(static_cast<OperatorMode>(random() % 4), seconds(2),
                           "test");
        break;
      default:
        if (auto permit = breaker->TryAcquire()) {
          permit->Record(random() % 2 == 0 ? Outcome::kFailure
                                           : Outcome::kSuccess);
        }
    }
    clock_->Advance(std::chrono::milliseconds(random() % 300));
    if (step % 10 == 0) {
      ASSERT_THAT(Ones(Scrape(*observer)), Each(1));
    }
  }

  std::map<std::tuple<std::string, State, State, TransitionReason>, int> told;
  for (const TransitionEvent& event : recorder->transitions()) {
    ++told[{event.key.target, event.from, event.to, event.reason}];
  }
  const Scrape scrape(*observer);
  auto lower = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(c));
    return result;
  };
  double sum = 0;
  for (const auto& [event, times] : told) {
    const auto& [target, from, to, reason] = event;
    EXPECT_EQ(scrape.Sum(kBreakerTransitionsMetric,
                         {{"target", target},
                          {"from", lower(ToString(from))},
                          {"to", lower(ToString(to))},
                          {"reason", lower(ToString(reason))}}),
              times);
    sum += times;
  }
  EXPECT_EQ(scrape.Sum(kBreakerTransitionsMetric), sum);
  EXPECT_GT(told.size(), 15u);  // of 3 breakers × 13 kinds
}

TEST_F(BreakerMetricsTest, ModesShadowAndIgnoredOutcomes) {
  const auto resilience = NewResilience(QuickToOpen());
  const Observer observer = NewObserver(resilience);
  const auto breaker = resilience->registry().GetOrCreate({"a:1", ""});
  auto mode = [&](const char* name) {
    return Scrape(*observer).Sum(kBreakerModeMetric,
                                 {{"target", "a:1"}, {"mode", name}});
  };
  EXPECT_EQ(mode("auto"), 1);
  breaker->ForceMode(OperatorMode::kShadow, std::nullopt, "trying");
  EXPECT_EQ(mode("auto"), 0);
  EXPECT_EQ(mode("shadow"), 1);
  Fail(*breaker);
  breaker->TryAcquire()->Record(Outcome::kSuccess);  // rejected otherwise
  breaker->TryAcquire()->Record(Outcome::kFailure);
  { std::optional<Permit> dropped = breaker->TryAcquire(); }
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kWouldHaveRejectedMetric, {{"target", "a:1"}}), 3);
  EXPECT_EQ(scrape.Sum(kWouldHaveRejectedSucceededMetric), 1);
  const auto snapshot = resilience->FindBreaker("a:1");
  for (std::size_t i = 1; i < kIgnoredCauses; ++i) {
    const auto cause = static_cast<IgnoredCause>(i);
    std::string name(ToString(cause));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(scrape.Sum(kIgnoredOutcomesMetric, {{"cause", name}}),
              snapshot->ignored[cause])
        << name;
  }
  EXPECT_GE(scrape.Sum(kIgnoredOutcomesMetric, {{"cause", "dropped"}}), 1);
  // The end of the mode's time is shown at once.
  breaker->ForceMode(OperatorMode::kForcedOpen, seconds(10), "moving");
  EXPECT_EQ(mode("forced_open"), 1);
  clock_->Advance(seconds(10));
  EXPECT_EQ(mode("forced_open"), 0);
  EXPECT_EQ(mode("auto"), 1);
}

// Counters never go back, though the breaker's own do.
TEST_F(BreakerMetricsTest, EvictedBreakersKeepTheirCounts) {
  Config config = QuickToOpen();
  config.max_breakers = 1;
  const auto resilience = NewResilience(config);
  const Observer observer = NewObserver(resilience);
  const LabelValues dropped = {{"target", "a:1"}, {"cause", "dropped"}};
  // What it hands out counts it as dropped.
  resilience->registry().GetOrCreate({"a:1", ""})->TryAcquire();
  EXPECT_EQ(Scrape(*observer).Sum(kIgnoredOutcomesMetric, dropped), 1);
  resilience->registry().GetOrCreate({"b:1", ""});
  ASSERT_FALSE(resilience->FindBreaker("a:1").has_value());
  const Scrape scrape(*observer);
  EXPECT_EQ(scrape.Sum(kIgnoredOutcomesMetric, dropped), 1);
  EXPECT_EQ(StateIs(scrape, "a:1", "closed"), 1);
  resilience->registry().GetOrCreate({"a:1", ""})->TryAcquire();
  EXPECT_EQ(Scrape(*observer).Sum(kIgnoredOutcomesMetric, dropped), 2);
}

// One of many that stand together shows what hurts most.
TEST_F(BreakerMetricsTest, TogetherTheWorstStateIsShown) {
  PrometheusOptions options;
  options.max_breakers = 1;
  const auto resilience = NewResilience(QuickToOpen());
  const Observer observer = NewObserver(resilience, options);
  BreakerRegistry& registry = resilience->registry();
  for (int i = 0; i < 5; ++i) {
    registry.GetOrCreate({"t" + std::to_string(i), ""});
  }
  EXPECT_EQ(StateIs(Scrape(*observer), "other", "closed"), 1);
  Fail(*registry.GetOrCreate({"t3", ""}));
  registry.GetOrCreate({"t4", ""})
      ->ForceMode(OperatorMode::kForcedClosed, std::nullopt, "test");
  const Scrape scrape(*observer);
  EXPECT_EQ(StateIs(scrape, "other", "open"), 1);
  EXPECT_EQ(StateIs(scrape, "other", "closed"), 0);
  EXPECT_EQ(scrape.Sum(kBreakerModeMetric,
                       {{"target", "other"}, {"mode", "forced_closed"}}),
            1);
  EXPECT_THAT(Ones(scrape), Each(1));
  EXPECT_EQ(scrape.Sum(kBreakersMetric, {{"state", "closed"}}), 4);
  EXPECT_EQ(scrape.Sum(kBreakersMetric, {{"state", "open"}}), 1);
  EXPECT_EQ(scrape.Sum(kBreakerTransitionsMetric,
                       {{"target", "other"}, {"reason", "trip_rule"}}),
            1);
}

// They are read some at a time: none is left out or taken twice where parts meet.
TEST_F(BreakerMetricsTest, EveryBreakerIsReadOnceHoweverManyThereAre) {
  PrometheusOptions options;
  options.max_breakers = 1;
  const auto resilience = NewResilience(QuickToOpen());
  const Observer observer = NewObserver(resilience, options);
  BreakerRegistry& registry = resilience->registry();
  int made = 0;
  for (const int count : {0, 1, 255, 256, 257, 512, 700}) {
    for (; made < count; ++made) {
      registry.GetOrCreate({"t" + std::to_string(made), ""})->TryAcquire();
    }
    const Scrape scrape(*observer);
    EXPECT_EQ(scrape.Sum(kBreakersMetric), count);
    // Each has dropped one permit.
    if (count == 0) continue;
    EXPECT_EQ(scrape.Sum(kIgnoredOutcomesMetric), count);
  }
}

TEST_F(BreakerMetricsTest, LabelsFollowTheScope) {
  Config config = QuickToOpen();
  config.Method("/a.B/C");
  config.Target("m:1").breaker = config.DefaultTarget().breaker;
  config.Target("m:1").breaker.scope = BreakerScope::kTargetAndMethod;
  const auto resilience = NewResilience(config);
  const Observer observer = NewObserver(resilience);
  Fail(*resilience->registry().GetOrCreate(
      resilience->BreakerKeyFor("m:1", "/a.B/C")));
  Fail(*resilience->registry().GetOrCreate({"", "", "tenant 7"}));
  const Scrape scrape(*observer);
  EXPECT_EQ(
      scrape.Sum(kBreakerStateMetric,
                 {{"target", "m:1"}, {"method", "/a.B/C"}, {"state", "open"}}),
      1);
  EXPECT_EQ(
      scrape.Sum(kBreakerStateMetric, {{"key", "tenant 7"}, {"state", "open"}}),
      1);
}

}  // namespace
}  // namespace grpc_resilience::test

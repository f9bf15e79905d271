#include "prometheus/metric_store.h"

#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "core/method_pattern.h"
#include "prometheus/metric_families.h"

namespace grpc_resilience::internal {
namespace {

std::size_t Size(int option) { return static_cast<std::size_t>(option); }

// The series that this thread counted in last: mostly it is the next one, too, and
// found without hashing two names. `store` is a number that no other store ever has.
struct LastSeries {
  std::uint64_t store = 0;
  CallSeries* series = nullptr;
};
thread_local LastSeries last_series;

std::uint64_t NextStoreNumber() {
  static std::atomic<std::uint64_t> stores{0};
  return stores.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::vector<std::string_view> ExactMethods(const MethodPolicies& policies) {
  std::vector<std::string_view> methods;
  for (const auto& [pattern, policy] : policies.by_pattern()) {
    if (!IsWildcard(pattern)) methods.push_back(pattern);
  }
  return methods;
}

}  // namespace

MetricStore::MetricStore(std::weak_ptr<Resilience> resilience,
                         const PrometheusOptions& options)
    : number_(NextStoreNumber()),
      resilience_(std::move(resilience)),
      options_(options),
      buckets_(options.duration_buckets.empty() ? A66DurationBuckets()
                                                : options.duration_buckets),
      targets_(Size(options.max_targets)),
      methods_(Size(options.max_methods)),
      pairs_(Size(options.max_pairs) + 1),  // and that of all the others
      breakers_(Size(options.max_breakers), &targets_, &methods_) {
  const auto alive = resilience_.lock();
  if (alive == nullptr) return;
  absl::MutexLock lock(&mu_);
  version_ = alive->version();
  MakeNamed(*alive->config());
}

void MetricStore::MakeNamed(const Config& config) {
  for (const std::string& method : options_.methods) {
    methods_.FindOrAdd(method);
  }
  for (const std::string_view method : ExactMethods(config)) {
    methods_.FindOrAdd(method);
  }
  for (const auto& [target, own] : config.targets()) {
    for (const std::string_view method : ExactMethods(own)) {
      methods_.FindOrAdd(method);
    }
  }
  for (const std::string_view method : ExactMethods(config.default_target())) {
    methods_.FindOrAdd(method);
  }
  for (const std::string& target : options_.targets) {
    MakeNamedTarget(config, target);
  }
  for (const auto& [target, own] : config.targets()) {
    MakeNamedTarget(config, target);
  }
}

void MetricStore::MakeNamedTarget(const Config& config,
                                  std::string_view target) {
  const auto found = config.targets().find(target);
  const TargetConfig& own =
      found != config.targets().end() ? found->second : config.default_target();
  std::vector<std::string_view> methods = ExactMethods(own);
  for (const std::string_view method : ExactMethods(config)) {
    methods.push_back(method);
  }
  methods.insert(methods.end(), options_.methods.begin(),
                 options_.methods.end());

  const bool enabled = own.breaker.mode == BreakerMode::kEnabled;
  if (enabled && own.breaker.scope == BreakerScope::kTarget) {
    breakers_.Of({std::string(target), ""});
  }
  const LabelName& label = targets_.FindOrAdd(target);
  Pair(label, methods_.other());
  for (const std::string_view method : methods) {
    Pair(label, methods_.Find(method));
    if (enabled && own.breaker.scope == BreakerScope::kTargetAndMethod) {
      breakers_.Of({std::string(target), std::string(method)});
    }
  }
}

CallSeries& MetricStore::SeriesOf(std::string_view target,
                                  std::string_view method) {
  if (last_series.store == number_) {
    CallSeries& last = *last_series.series;
    if (last.method().name == method && last.target().name == target) {
      return last;
    }
  }
  CallSeries& series = Pair(targets_.FindOrAdd(target), methods_.Find(method));
  last_series = {number_, &series};
  return series;
}

CallSeries& MetricStore::Pair(const LabelName& target,
                              const LabelName& method) {
  const CallSeries::Key key(&target, &method);
  const std::size_t hash = absl::HashOf(key.first, key.second);
  if (CallSeries* const found = pairs_.Find(hash, key)) return *found;
  const bool is_others =
      &target == &targets_.other() && &method == &methods_.other();
  if (is_others || !pairs_full_.load(std::memory_order_relaxed)) {
    absl::MutexLock lock(&pairs_mu_);
    if (CallSeries* const found = pairs_.Find(hash, key)) return *found;
    if (is_others || pairs_size_ < Size(options_.max_pairs)) {
      if (!is_others) ++pairs_size_;
      return pairs_.Insert(
          hash, std::make_unique<CallSeries>(target, method, buckets_));
    }
    pairs_full_.store(true, std::memory_order_relaxed);
  }
  return Pair(targets_.other(), methods_.other());
}

std::vector<CallSeries*> MetricStore::Pairs() const {
  absl::MutexLock lock(&pairs_mu_);
  std::vector<CallSeries*> pairs;
  for (const auto& pair : pairs_.entries()) pairs.push_back(pair.get());
  return pairs;
}

void MetricStore::CountTransition(const TransitionEvent& event) {
  breakers_.Of(event.key).Count(event);
}

std::vector<prometheus::MetricFamily> MetricStore::Collect() {
  std::vector<prometheus::MetricFamily> families;
  absl::MutexLock lock(&mu_);
  if (const auto alive = resilience_.lock()) {
    const std::uint64_t version = alive->version();
    if (version != version_) {
      version_ = version;
      MakeNamed(*alive->config());
    }
    breakers_.Look(alive->registry());
  }
  std::vector<CallReading> readings;
  for (CallSeries* const pair : Pairs()) {
    readings.push_back(
        {pair->target().text, pair->method().text, pair->Read()});
  }
  WriteCalls(readings, buckets_, &families);
  WriteBreakers(breakers_, &families);
  return families;
}

std::size_t MetricStore::max_series() const {
  return (Size(options_.max_pairs) + 1) * SeriesOfCalls(buckets_) +
         (Size(options_.max_breakers) + 1) * SeriesOfBreaker() +
         kSeriesOfAllBreakers;
}

}  // namespace grpc_resilience::internal

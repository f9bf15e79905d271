#include "grpc_resilience/breaker_registry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/breaker_context.h"
#include "core/breaker_identity.h"

namespace grpc_resilience {
namespace {

constexpr std::size_t kMaxContexts = 64;
// Looked at for each breaker that is made, so that nothing scans them all.
constexpr std::size_t kIdleChecks = 4;
constexpr std::size_t kCapChecks = 4096;

std::shared_ptr<const BreakerRegistry::SettingsSource> Shared(
    BreakerRegistry::SettingsSource source) {
  return std::make_shared<const BreakerRegistry::SettingsSource>(
      std::move(source));
}

}  // namespace

BreakerRegistry::BreakerRegistry(SettingsSource settings, const Limits& limits,
                                 const Clock& clock, Random& random,
                                 TransitionSink* sink)
    : clock_(clock),
      random_(random),
      sink_(sink),
      in_force_{Shared(std::move(settings)), 0},
      limits_(limits) {}

BreakerRegistry::KeyView BreakerRegistry::ViewOf(const BreakerPtr& breaker) {
  const internal::BreakerIdentity& identity = *breaker->identity_;
  return {identity.target(), identity.method(), identity.custom()};
}

std::shared_ptr<CircuitBreaker> BreakerRegistry::GetOrCreate(
    const BreakerKey& key) {
  BreakerPtr breaker = Find(key);
  while (breaker == nullptr) {
    const SettingsInForce in_force = InForce();
    const Settings settings = (*in_force.source)(key);
    breaker = InsertUnlessOutdated(
        std::make_shared<CircuitBreaker>(key, ContextOf(settings)),
        in_force.version);
  }
  const std::uint32_t now = Seconds();
  if (breaker->hot_.last_asked_for.load(std::memory_order_relaxed) != now) {
    breaker->hot_.last_asked_for.store(now, std::memory_order_relaxed);
  }
  return breaker;
}

std::shared_ptr<CircuitBreaker> BreakerRegistry::Find(
    const BreakerKey& key) const {
  absl::ReaderMutexLock lock(&mu_);
  return FindLocked(key);
}

std::vector<std::shared_ptr<CircuitBreaker>> BreakerRegistry::List() const {
  absl::ReaderMutexLock lock(&mu_);
  return {breakers_.begin(), breakers_.end()};
}

std::vector<std::shared_ptr<CircuitBreaker>> BreakerRegistry::ListAfter(
    const std::optional<BreakerKey>& after, std::size_t most) const {
  std::vector<std::shared_ptr<CircuitBreaker>> breakers;
  absl::ReaderMutexLock lock(&mu_);
  auto next = after ? breakers_.upper_bound(*after) : breakers_.begin();
  for (; next != breakers_.end() && breakers.size() < most; ++next) {
    breakers.push_back(*next);
  }
  return breakers;
}

std::size_t BreakerRegistry::size() const {
  absl::ReaderMutexLock lock(&mu_);
  return breakers_.size();
}

void BreakerRegistry::Reconfigure(SettingsSource settings,
                                  const Limits& limits) {
  std::size_t parts = 0;
  {
    absl::MutexLock lock(&mu_);
    in_force_ = {Shared(std::move(settings)), in_force_.version + 1};
    limits_ = limits;
    contexts_.clear();
    parts = order_.size() / kCapChecks + 1;
  }
  // All of them, but nobody waits that long for the lock.
  for (; parts > 0; --parts) {
    absl::MutexLock lock(&mu_);
    EvictLocked();
  }
  // Again when another Reconfigure came between: the newest settings win.
  std::uint64_t applied = 0;
  do {
    const SettingsInForce in_force = InForce();
    for (const BreakerPtr& breaker : List()) {
      breaker->Reconfigure(ContextOf((*in_force.source)(breaker->key())));
    }
    applied = in_force.version;
  } while (applied != InForce().version);
}

std::shared_ptr<CircuitBreaker> BreakerRegistry::FindLocked(
    const BreakerKey& key) const {
  const auto found = breakers_.find(key);
  return found == breakers_.end() ? nullptr : *found;
}

std::shared_ptr<CircuitBreaker> BreakerRegistry::InsertUnlessOutdated(
    BreakerPtr fresh, std::uint64_t version) {
  absl::MutexLock lock(&mu_);
  if (version != in_force_.version) return nullptr;
  const auto [place, inserted] = breakers_.insert(fresh);
  if (!inserted) return *place;
  order_.push_back(fresh.get());
  EvictLocked();
  return fresh;
}

BreakerRegistry::ContextPtr BreakerRegistry::ContextOf(
    const Settings& settings) {
  const internal::BreakerRules rules(settings.breaker, settings.throttle);
  absl::MutexLock lock(&mu_);
  const auto found = std::find_if(
      contexts_.begin(), contexts_.end(),
      [&](const ContextPtr& context) { return context->rules == rules; });
  if (found != contexts_.end()) {
    std::rotate(contexts_.begin(), found, found + 1);
    return contexts_.front();
  }
  if (contexts_.size() == kMaxContexts) contexts_.pop_back();
  contexts_.insert(
      contexts_.begin(),
      std::make_shared<const internal::BreakerContext>(
          internal::BreakerContext{rules, clock_, random_, sink_}));
  return contexts_.front();
}

void BreakerRegistry::EvictLocked() {
  if (limits_.idle_time) {
    const auto idle = [now = Seconds(), idle_time = *limits_.idle_time](
                          const CircuitBreaker& breaker) {
      const std::uint32_t asked =
          breaker.hot_.last_asked_for.load(std::memory_order_relaxed);
      return std::chrono::seconds(now - asked) >= idle_time;
    };
    const std::size_t checks = std::min(order_.size(), kIdleChecks);
    for (std::size_t i = 0; i < checks; ++i) DropNextLocked(idle);
  }
  const auto any = [](const CircuitBreaker&) { return true; };
  for (std::size_t left = std::min(order_.size(), kCapChecks);
       left > 0 && breakers_.size() > limits_.max_breakers; --left) {
    DropNextLocked(any);
  }
}

bool BreakerRegistry::DropNextLocked(
    const std::function<bool(const CircuitBreaker&)>& drop) {
  CircuitBreaker* const breaker = order_.front();
  order_.pop_front();
  const auto place = breakers_.find(breaker->key());
  // Nobody else can take hold of it meanwhile: that needs the lock.
  const bool held = place->use_count() > 1;
  if (!held && breaker->MayBeForgotten(clock_.Now()) && drop(*breaker)) {
    breakers_.erase(place);
    return true;
  }
  // Idle from now on at the earliest.
  if (held) {
    breaker->hot_.last_asked_for.store(Seconds(), std::memory_order_relaxed);
  }
  order_.push_back(breaker);
  return false;
}

std::uint32_t BreakerRegistry::Seconds() const {
  const auto since_epoch = clock_.Now().time_since_epoch();
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count());
}

BreakerRegistry::SettingsInForce BreakerRegistry::InForce() const {
  absl::ReaderMutexLock lock(&mu_);
  return in_force_;
}

}  // namespace grpc_resilience

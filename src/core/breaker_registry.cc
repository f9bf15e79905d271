#include "grpc_resilience/breaker_registry.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience {
namespace {

std::shared_ptr<const BreakerRegistry::SettingsSource> Shared(
    BreakerRegistry::SettingsSource source) {
  return std::make_shared<const BreakerRegistry::SettingsSource>(
      std::move(source));
}

}  // namespace

BreakerRegistry::BreakerRegistry(SettingsSource settings,
                                 std::size_t max_breakers, const Clock& clock,
                                 Random& random, TransitionSink* sink)
    : clock_(clock),
      random_(random),
      sink_(sink),
      in_force_{Shared(std::move(settings)), 0},
      max_breakers_(max_breakers) {}

std::shared_ptr<CircuitBreaker> BreakerRegistry::GetOrCreate(
    const BreakerKey& key) {
  BreakerPtr breaker = Find(key);
  while (breaker == nullptr) {
    const SettingsInForce in_force = InForce();
    const Settings settings = (*in_force.source)(key);
    breaker = InsertUnlessOutdated(
        std::make_shared<CircuitBreaker>(
            key, settings.breaker, settings.throttle, clock_, random_, sink_),
        in_force.version);
  }
  return breaker;
}

std::shared_ptr<CircuitBreaker> BreakerRegistry::Find(
    const BreakerKey& key) const {
  absl::ReaderMutexLock lock(&mu_);
  return FindLocked(key);
}

std::vector<std::shared_ptr<CircuitBreaker>> BreakerRegistry::List() const {
  std::vector<BreakerPtr> list;
  {
    absl::ReaderMutexLock lock(&mu_);
    list.assign(breakers_.begin(), breakers_.end());
  }
  std::sort(list.begin(), list.end(),
            [](const BreakerPtr& a, const BreakerPtr& b) {
              return a->key() < b->key();
            });
  return list;
}

std::size_t BreakerRegistry::size() const {
  absl::ReaderMutexLock lock(&mu_);
  return breakers_.size();
}

void BreakerRegistry::Reconfigure(SettingsSource settings,
                                  std::size_t max_breakers) {
  {
    absl::MutexLock lock(&mu_);
    in_force_ = {Shared(std::move(settings)), in_force_.version + 1};
    max_breakers_ = max_breakers;
    EvictLocked();
  }
  // Again when another Reconfigure came between: the newest settings win.
  std::uint64_t applied = 0;
  do {
    const SettingsInForce in_force = InForce();
    for (const BreakerPtr& breaker : List()) {
      const Settings fresh = (*in_force.source)(breaker->key());
      breaker->Reconfigure(fresh.breaker, fresh.throttle);
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
  order_.push_back(&fresh->key());
  EvictLocked();
  return fresh;
}

void BreakerRegistry::EvictLocked() {
  for (std::size_t left = order_.size();
       left > 0 && breakers_.size() > max_breakers_; --left) {
    const BreakerKey* const key = order_.front();
    order_.pop_front();
    const auto place = breakers_.find(*key);
    // Nobody else can take hold of it meanwhile: that needs the lock.
    if (place->use_count() == 1 && (*place)->state() == State::kClosed) {
      breakers_.erase(place);
    } else {
      order_.push_back(key);
    }
  }
}

BreakerRegistry::SettingsInForce BreakerRegistry::InForce() const {
  absl::ReaderMutexLock lock(&mu_);
  return in_force_;
}

}  // namespace grpc_resilience

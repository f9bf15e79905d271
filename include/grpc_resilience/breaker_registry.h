// All breakers of a Resilience object, by key.
//
//   std::shared_ptr<CircuitBreaker> breaker =
//   registry.GetOrCreate({"payments:443", ""});
//
// Bounded: beyond the cap, CLOSED breakers that nobody else holds are dropped,
// least recently created first (one that was spared counts as created then);
// never an OPEN or HALF_OPEN one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience {

/// This type is safe to use from several threads at once.
class BreakerRegistry {
 public:
  /// What a new breaker of that key is made with.
  struct Settings {
    BreakerPolicy breaker;
    RetryThrottlePolicy throttle;
  };
  using SettingsSource = std::function<Settings(const BreakerKey& key)>;

  /// The references must outlive every breaker handed out; `sink` may be null.
  /// `settings` is never called under the registry's lock, perhaps more than
  /// once for a key, and from any thread that calls the registry.
  BreakerRegistry(SettingsSource settings, std::size_t max_breakers,
                  const Clock& clock, Random& random, TransitionSink* sink);

  /// The breaker of that key; two callers of one key share it.
  std::shared_ptr<CircuitBreaker> GetOrCreate(const BreakerKey& key);
  /// Null when there is none; creates nothing.
  std::shared_ptr<CircuitBreaker> Find(const BreakerKey& key) const;
  /// Every breaker, in the order of the keys.
  std::vector<std::shared_ptr<CircuitBreaker>> List() const;
  std::size_t size() const;

  /// Asks the settings source again for every breaker; states stay.
  void Reconfigure(SettingsSource settings, std::size_t max_breakers);

 private:
  using BreakerPtr = std::shared_ptr<CircuitBreaker>;

  // The set finds a breaker by its own key, so that no key is stored twice.
  struct ByKey {
    using is_transparent = void;
    static const BreakerKey& KeyOf(const BreakerKey& key) { return key; }
    static const BreakerKey& KeyOf(const BreakerPtr& p) { return p->key(); }
  };
  struct Hash : ByKey {
    template <typename T>
    std::size_t operator()(const T& value) const {
      return absl::Hash<BreakerKey>()(KeyOf(value));
    }
  };
  struct Equal : ByKey {
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) == KeyOf(b);
    }
  };

  /// What is in force, and a number that grows with each change.
  struct SettingsInForce {
    std::shared_ptr<const SettingsSource> source;
    std::uint64_t version = 0;
  };

  BreakerPtr FindLocked(const BreakerKey& key) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  /// Null when the settings have changed meanwhile. Another thread's breaker of
  /// that key wins over `fresh`.
  BreakerPtr InsertUnlessOutdated(BreakerPtr fresh, std::uint64_t version)
      ABSL_LOCKS_EXCLUDED(mu_);
  void EvictLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  SettingsInForce InForce() const ABSL_LOCKS_EXCLUDED(mu_);

  const Clock& clock_;
  Random& random_;
  TransitionSink* const sink_;
  mutable absl::Mutex mu_;
  SettingsInForce in_force_ ABSL_GUARDED_BY(mu_);
  std::size_t max_breakers_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<BreakerPtr, Hash, Equal> breakers_ ABSL_GUARDED_BY(mu_);
  /// The same breakers, next to be looked at for eviction first.
  std::deque<const BreakerKey*> order_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

// All breakers of a Resilience object, by key.
//
//   std::shared_ptr<CircuitBreaker> breaker =
//   registry.GetOrCreate({"payments:443", ""});
//
// Bounded: beyond the cap, breakers that nobody else holds, that are CLOSED and
// whose mode is AUTO are dropped, least recently created first (one that was
// spared counts as created then); never any other. With an idle time such breakers
// are dropped as well once nobody has asked for them for so long; a few are looked
// at whenever one is made.
//
// Meant for very many: an idle breaker takes about 150 bytes with its key.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
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

  struct Limits {
    Limits(std::size_t most,  // NOLINT(google-explicit-constructor)
           std::optional<Duration> idle = std::nullopt)
        : max_breakers(most), idle_time(idle) {}

    std::size_t max_breakers;
    /// Unset: for ever. Counted in whole seconds.
    std::optional<Duration> idle_time;
  };

  /// The references must outlive every breaker handed out; `sink` may be null.
  /// `settings` is never called under the registry's lock, perhaps more than
  /// once for a key, and from any thread that calls the registry.
  BreakerRegistry(SettingsSource settings, const Limits& limits,
                  const Clock& clock, Random& random, TransitionSink* sink);

  /// The breaker of that key; two callers of one key share it.
  std::shared_ptr<CircuitBreaker> GetOrCreate(const BreakerKey& key);
  /// Null when there is none; creates nothing.
  std::shared_ptr<CircuitBreaker> Find(const BreakerKey& key) const;
  /// Every breaker, in the order of the keys.
  std::vector<std::shared_ptr<CircuitBreaker>> List() const;
  /// At most `most` of them, in the order of the keys: those after `after`, or the
  /// first ones. For who looks at very many: the lock is held for these only.
  std::vector<std::shared_ptr<CircuitBreaker>> ListAfter(
      const std::optional<BreakerKey>& after, std::size_t most) const;
  std::size_t size() const;

  /// Asks the settings source again for every breaker; states stay.
  void Reconfigure(SettingsSource settings, const Limits& limits);

 private:
  using BreakerPtr = std::shared_ptr<CircuitBreaker>;

  // The set finds a breaker by its own key, so that no key is stored twice.
  using KeyView =
      std::tuple<std::string_view, std::string_view, std::string_view>;
  static KeyView ViewOf(const BreakerKey& key) {
    return {key.target, key.method, key.custom};
  }
  static KeyView ViewOf(const BreakerPtr& breaker);
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return ViewOf(a) < ViewOf(b);
    }
  };

  /// What is in force, and a number that grows with each change.
  struct SettingsInForce {
    std::shared_ptr<const SettingsSource> source;
    std::uint64_t version = 0;
  };

  using ContextPtr = std::shared_ptr<const internal::BreakerContext>;

  BreakerPtr FindLocked(const BreakerKey& key) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  /// The same object for equal settings, as long as there aren't very many
  /// different ones.
  ContextPtr ContextOf(const Settings& settings) ABSL_LOCKS_EXCLUDED(mu_);
  /// Null when the settings have changed meanwhile. Another thread's breaker of
  /// that key wins over `fresh`.
  BreakerPtr InsertUnlessOutdated(BreakerPtr fresh, std::uint64_t version)
      ABSL_LOCKS_EXCLUDED(mu_);
  void EvictLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Takes the next in order_: away when `drop` agrees, else to the end.
  bool DropNextLocked(const std::function<bool(const CircuitBreaker&)>& drop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::uint32_t Seconds() const;
  SettingsInForce InForce() const ABSL_LOCKS_EXCLUDED(mu_);

  const Clock& clock_;
  Random& random_;
  TransitionSink* const sink_;
  mutable absl::Mutex mu_;
  SettingsInForce in_force_ ABSL_GUARDED_BY(mu_);
  Limits limits_ ABSL_GUARDED_BY(mu_);
  absl::btree_set<BreakerPtr, Less> breakers_ ABSL_GUARDED_BY(mu_);
  /// The same breakers, next to be looked at for eviction first.
  std::deque<CircuitBreaker*> order_ ABSL_GUARDED_BY(mu_);
  /// Used last, first.
  std::vector<ContextPtr> contexts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

// The object an application makes once and gives to all its channels: it owns the
// policies, the breakers, the retry budgets and the observers.
//
//   Config config;
//   absl::StatusOr<std::shared_ptr<Resilience>> resilience =
//       Resilience::Create(std::move(config));
//   if (!resilience.ok()) { std::cerr << resilience.status(); return 1; }
//   auto channel = CreateChannel(*resilience, "payments:443", creds);  // channel.h
//
// Making one starts no thread. It may be let go while calls are in flight: they
// hold what they need.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/config.h"
#include "grpc_resilience/observer.h"
#include "grpc_resilience/random.h"
#include "grpc_resilience/timer.h"

namespace grpc_resilience {

namespace internal {
class CustomKeys;
class Notifier;
class PolicyTable;
}  // namespace internal

/// This type is safe to use from several threads at once.
class Resilience {
 public:
  /// What the world looks like; tests put fakes here. Whatever a pointer names
  /// must outlive the Resilience object and its calls.
  struct Ports {
    const Clock* clock = &Clock::Real();
    Random* random = &Random::Real();
    /// Null: the process's own timer thread, started by the first wait.
    std::shared_ptr<Timer> timer;
    /// Runs observers' OnTransition and OnNotice, one at a time. Empty: where
    /// channels are made, one lazily started thread; in a program without
    /// channels, the thread that caused the event.
    std::function<void(std::function<void()>)> executor;
  };

  /// INVALID_ARGUMENT names every fault of the config at once.
  static absl::StatusOr<std::shared_ptr<Resilience>> Create(Config config,
                                                            Ports ports);
  static absl::StatusOr<std::shared_ptr<Resilience>> Create(Config config) {
    return Create(std::move(config), Ports());
  }

  ~Resilience();

  /// Replaces the policies; a bad config changes nothing. Calls in flight end
  /// under the policy they began with. Breakers keep their state, what is left of
  /// their open time, and their permits.
  absl::Status Update(Config config);

  /// From the next call on.
  void AddObserver(std::shared_ptr<CallObserver> observer);
  /// It hears nothing of what begins from now on; calls and events under way may
  /// still tell it.
  void RemoveObserver(const CallObserver* observer);

  /// What it was created or last updated with. Never null.
  std::shared_ptr<const Config> config() const;

  /// Every breaker, in the order of the keys. Changes nothing.
  std::vector<BreakerSnapshot> Breakers() const;
  /// Empty when there is no such breaker; creates none.
  std::optional<BreakerSnapshot> FindBreaker(
      std::string_view target, std::string_view method = {}) const;
  std::optional<BreakerSnapshot> FindBreaker(const BreakerKey& key) const;
  /// NOT_FOUND when there is no such breaker.
  absl::Status ResetBreaker(std::string_view target,
                            std::string_view method = {});
  absl::Status ResetBreaker(const BreakerKey& key);
  /// CircuitBreaker::ForceMode by key. NOT_FOUND when there is no such breaker,
  /// INVALID_ARGUMENT when `ttl` is set and not > 0.
  absl::Status ForceBreakerMode(const BreakerKey& key, OperatorMode mode,
                                std::optional<Duration> ttl,
                                std::string_view reason);

  /// Ends every call that waits for its next attempt with UNAVAILABLE, and makes
  /// later calls single attempts. Attempts on the wire end by themselves. For
  /// good; may be called twice. (Adapters: is_shut_down must be asked again after
  /// a wait was scheduled, which may just have missed it.)
  void Shutdown();

  // --- For adapters -----------------------------------------------------------

  const Clock& clock() const { return *ports_.clock; }
  Random& random() const { return *ports_.random; }
  const std::shared_ptr<Timer>& timer() const { return ports_.timer; }
  BreakerRegistry& registry() { return *registry_; }
  bool is_shut_down() const {
    return shut_down_.load(std::memory_order_acquire);
  }

  /// Grows by one with each Update and AddObserver, so that an adapter may keep
  /// what it derived from them.
  std::uint64_t version() const {
    return version_.load(std::memory_order_acquire);
  }

  /// The breaker that a call belongs to, by BreakerPolicy::scope of its target.
  /// May call the key function. Not for the path of every call.
  BreakerKey BreakerKeyFor(std::string_view target, std::string_view method);

  struct ResolvedPolicy {
    MethodPolicy method;
    BreakerPolicy breaker;
    RetryThrottlePolicy throttle;
    /// Config::max_replay_bytes.
    std::int64_t max_replay_bytes = 0;
    /// Which rule gave the method policy, for people: "target payments:443,
    /// method /pay.Payments/*".
    std::string rule;
  };
  /// The policy of one method of one target. Not for the path of every call.
  ResolvedPolicy Resolve(std::string_view target,
                         std::string_view method) const;

  using Observers = std::vector<std::shared_ptr<CallObserver>>;
  /// Those that hear of calls.
  std::shared_ptr<const Observers> observers() const;

  /// Tells the observers, in order, off the caller's thread where there is an
  /// executor.
  void Notify(NoticeEvent notice);
  /// Sets the executor when the ports named none; later calls change nothing.
  void UseExecutor(std::function<void(std::function<void()>)> executor);
  /// Shutdown also expires what waits on `timer` with this object as its owner:
  /// for adapters with a timer of their own. May be called for one timer often.
  void ExpireOnShutdown(const std::shared_ptr<Timer>& timer);

 private:
  Resilience(Config config, Ports ports);
  std::shared_ptr<const internal::PolicyTable> policies() const;

  const Ports ports_;
  const std::shared_ptr<internal::Notifier> notifier_;
  const std::shared_ptr<internal::CustomKeys> custom_keys_;
  std::atomic<bool> shut_down_{false};
  std::atomic<std::uint64_t> version_{1};
  /// One update at a time.
  absl::Mutex update_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  mutable absl::Mutex mu_;
  std::shared_ptr<const internal::PolicyTable> policies_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Timer>> timers_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<BreakerRegistry> registry_;
};

}  // namespace grpc_resilience

// Brings transitions and notices to the observers: in order, one at a time,
// never under a lock, and off the thread that caused them where there is an
// executor.

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/observer.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. An event on its way
/// keeps the notifier alive.
class Notifier : public TransitionSink,
                 public std::enable_shared_from_this<Notifier> {
 public:
  using Executor = std::function<void(std::function<void()>)>;
  using Observers = std::vector<std::shared_ptr<CallObserver>>;

  /// An empty executor: events are delivered on the thread that caused them, or
  /// by another that is delivering already.
  explicit Notifier(Executor executor) : executor_(std::move(executor)) {}

  /// Only when there is none yet.
  void UseExecutor(Executor executor);
  /// Hears of what happens from now on.
  void AddObserver(std::shared_ptr<CallObserver> observer);
  /// False: it wasn't there.
  bool RemoveObserver(const CallObserver* observer);
  /// Never null.
  std::shared_ptr<const Observers> observers() const;
  /// Those that hear of calls; never null.
  std::shared_ptr<const Observers> call_observers() const;

  void OnTransition(const TransitionEvent& event) override;
  void OnNotice(NoticeEvent notice);

 private:
  enum class Phase { kIdle, kScheduled, kDelivering };
  using Event = std::function<void(CallObserver& observer)>;
  struct Entry {
    Event event;
    std::shared_ptr<const Observers> observers;
  };

  void Post(Event event);
  void Deliver();
  std::optional<Entry> TakeNext();

  mutable absl::Mutex mu_;
  Executor executor_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const Observers> observers_ ABSL_GUARDED_BY(mu_) =
      std::make_shared<const Observers>();
  std::shared_ptr<const Observers> call_observers_ ABSL_GUARDED_BY(mu_) =
      std::make_shared<const Observers>();
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kIdle;
};

}  // namespace grpc_resilience::internal

// Carries transitions from the breaker, which holds its lock, to the sink,
// which must never be called under one.
//
//   { absl::MutexLock lock(&mu_); ... outbox_.Push(event); }
//   outbox_.Deliver();
//
// One thread delivers at a time, in order. Whoever comes meanwhile (another
// thread, or the sink itself calling the breaker) leaves its events to that one
// and goes on at once, so nobody waits for a slow sink and nothing is lost.

#pragma once

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class TransitionOutbox {
 public:
  /// `sink` may be null: then nothing is kept.
  explicit TransitionOutbox(TransitionSink* sink) : sink_(sink) {}

  /// Calls nothing, so it may be used under a lock; that lock gives the order.
  void Push(const TransitionEvent& event) ABSL_LOCKS_EXCLUDED(mu_);

  /// Hands over all that waits. To be called without locks after each Push. An
  /// exception of the sink is swallowed.
  void Deliver() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// False: nothing to do, or someone else is at it.
  bool StartDelivering() ABSL_LOCKS_EXCLUDED(mu_);
  /// The events that wait; none: delivering is over.
  std::vector<TransitionEvent> TakeBatch() ABSL_LOCKS_EXCLUDED(mu_);

  TransitionSink* const sink_;
  /// Spares callers the lock when nothing waits.
  std::atomic<bool> maybe_waiting_{false};
  absl::Mutex mu_;
  std::vector<TransitionEvent> waiting_ ABSL_GUARDED_BY(mu_);
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace grpc_resilience::internal

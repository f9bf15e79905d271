#include "core/transition_outbox.h"

#include <utility>

namespace grpc_resilience::internal {
namespace {

void CallSwallowing(TransitionSink& sink, const TransitionEvent& event) {
  try {
    sink.OnTransition(event);
  } catch (...) {  // the sink's own affair; the breaker must go on
  }
}

}  // namespace

void TransitionOutbox::Push(const TransitionEvent& event) {
  if (sink_ == nullptr) return;
  absl::MutexLock lock(&mu_);
  waiting_.push_back(event);
  maybe_waiting_.store(true, std::memory_order_release);
}

void TransitionOutbox::Deliver() {
  if (!maybe_waiting_.load(std::memory_order_acquire)) return;
  if (!StartDelivering()) return;
  for (auto batch = TakeBatch(); !batch.empty(); batch = TakeBatch()) {
    for (const TransitionEvent& event : batch) CallSwallowing(*sink_, event);
  }
}

bool TransitionOutbox::StartDelivering() {
  absl::MutexLock lock(&mu_);
  if (delivering_ || waiting_.empty()) return false;
  delivering_ = true;
  return true;
}

std::vector<TransitionEvent> TransitionOutbox::TakeBatch() {
  absl::MutexLock lock(&mu_);
  maybe_waiting_.store(false, std::memory_order_relaxed);
  delivering_ = !waiting_.empty();
  return std::exchange(waiting_, {});
}

}  // namespace grpc_resilience::internal

#include "core/notifier.h"

namespace grpc_resilience::internal {

void Notifier::UseExecutor(Executor executor) {
  absl::MutexLock lock(&mu_);
  if (!executor_) executor_ = std::move(executor);
}

void Notifier::AddObserver(std::shared_ptr<CallObserver> observer) {
  absl::MutexLock lock(&mu_);
  auto observers = std::make_shared<Observers>(*observers_);
  observers->push_back(std::move(observer));
  observers_ = std::move(observers);
}

std::shared_ptr<const Notifier::Observers> Notifier::observers() const {
  absl::ReaderMutexLock lock(&mu_);
  return observers_;
}

void Notifier::OnTransition(const TransitionEvent& event) {
  Post([event](CallObserver& observer) { observer.OnTransition(event); });
}

void Notifier::OnNotice(NoticeEvent notice) {
  Post([notice = std::move(notice)](CallObserver& observer) {
    observer.OnNotice(notice);
  });
}

void Notifier::Post(Event event) {
  Executor executor;
  {
    absl::MutexLock lock(&mu_);
    if (observers_->empty()) return;
    queue_.push_back({std::move(event), observers_});
    if (phase_ != Phase::kIdle) return;  // whoever delivers takes this one too
    phase_ = Phase::kScheduled;
    executor = executor_;
  }
  if (!executor) return Deliver();
  try {
    executor([self = shared_from_this()] { self->Deliver(); });
  } catch (...) {
    Deliver();  // an executor that refuses costs no event
  }
}

void Notifier::Deliver() {
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kScheduled) return;
    phase_ = Phase::kDelivering;
  }
  // Each entry is let go before the next is taken: an observer may end with it.
  while (std::optional<Entry> entry = TakeNext()) {
    for (const auto& observer : *entry->observers) {
      try {
        entry->event(*observer);
      } catch (...) {
        // The others still hear of it.
      }
    }
  }
}

std::optional<Notifier::Entry> Notifier::TakeNext() {
  absl::MutexLock lock(&mu_);
  if (queue_.empty()) {
    phase_ = Phase::kIdle;
    return std::nullopt;
  }
  std::optional<Entry> entry(std::move(queue_.front()));
  queue_.pop_front();
  return entry;
}

}  // namespace grpc_resilience::internal

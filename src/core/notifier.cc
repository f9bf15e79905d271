#include "core/notifier.h"

#include <algorithm>

namespace grpc_resilience::internal {
namespace {

using ObserversPtr = std::shared_ptr<const Notifier::Observers>;

ObserversPtr With(const ObserversPtr& observers,
                  std::shared_ptr<CallObserver> added) {
  auto more = std::make_shared<Notifier::Observers>(*observers);
  more->push_back(std::move(added));
  return more;
}

ObserversPtr Without(const ObserversPtr& observers,
                     const CallObserver* removed) {
  auto fewer = std::make_shared<Notifier::Observers>(*observers);
  const auto gone = std::remove_if(
      fewer->begin(), fewer->end(),
      [&](const auto& observer) { return observer.get() == removed; });
  if (gone == fewer->end()) return observers;
  fewer->erase(gone, fewer->end());
  return fewer;
}

// In doubt it hears them.
bool HearsCalls(const CallObserver& observer) {
  try {
    return observer.HearsCalls();
  } catch (...) {
    return true;
  }
}

}  // namespace

void Notifier::UseExecutor(Executor executor) {
  absl::MutexLock lock(&mu_);
  if (!executor_) executor_ = std::move(executor);
}

void Notifier::AddObserver(std::shared_ptr<CallObserver> observer) {
  const bool hears_calls = HearsCalls(*observer);
  absl::MutexLock lock(&mu_);
  observers_ = With(observers_, observer);
  if (hears_calls) {
    call_observers_ = With(call_observers_, std::move(observer));
  }
}

bool Notifier::RemoveObserver(const CallObserver* observer) {
  // Let go after the lock: an observer may end with them.
  ObserversPtr before;
  ObserversPtr call_before;
  absl::MutexLock lock(&mu_);
  before = observers_;
  call_before = call_observers_;
  observers_ = Without(before, observer);
  call_observers_ = Without(call_before, observer);
  return observers_ != before;
}

std::shared_ptr<const Notifier::Observers> Notifier::observers() const {
  absl::ReaderMutexLock lock(&mu_);
  return observers_;
}

std::shared_ptr<const Notifier::Observers> Notifier::call_observers() const {
  absl::ReaderMutexLock lock(&mu_);
  return call_observers_;
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

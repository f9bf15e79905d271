#include "interceptor/timer_thread.h"

#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace grpc_resilience::internal {

Timer::Id TimerThread::Schedule(TimePoint when, std::function<void()> run,
                                const void* owner) {
  absl::MutexLock lock(&mu_);
  const Id id = next_id_++;
  entries_.emplace(Place(when, id), Entry{std::move(run), owner});
  when_.emplace(id, when);
  if (!started_) {
    started_ = true;
    std::thread([this] { Loop(); }).detach();
  }
  // Most entries are cancelled long before their time: the thread is left asleep
  // unless it must get up earlier than it means to.
  if (when < wakes_at_) changed_.Signal();
  return id;
}

bool TimerThread::Cancel(Id id) {
  Entry removed;  // destroyed after the lock
  absl::MutexLock lock(&mu_);
  const auto found = when_.find(id);
  if (found == when_.end()) return false;
  const auto entry = entries_.find(Place(found->second, id));
  removed = std::move(entry->second);
  entries_.erase(entry);
  when_.erase(found);
  return true;
}

std::size_t TimerThread::ExpireAll(const void* owner) {
  absl::MutexLock lock(&mu_);
  std::vector<std::pair<Id, Entry>> due;
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.owner == owner) {
      due.emplace_back(it->first.second, std::move(it->second));
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& [id, entry] : due) {
    when_[id] = TimePoint::min();
    entries_.emplace(Place(TimePoint::min(), id), std::move(entry));
  }
  changed_.Signal();
  return due.size();
}

std::size_t TimerThread::pending() const {
  absl::MutexLock lock(&mu_);
  return entries_.size();
}

void TimerThread::Loop() {
  mu_.Lock();
  while (true) {
    if (entries_.empty()) {
      wakes_at_ = TimePoint::max();
      changed_.Wait(&mu_);
      continue;
    }
    const auto first = entries_.begin();
    const TimePoint when = first->first.first;
    const TimePoint now = Clock::Real().Now();
    if (when > now) {
      wakes_at_ = when;
      changed_.WaitWithTimeout(&mu_, absl::FromChrono(when - now));
      continue;
    }
    std::function<void()> run = std::move(first->second.run);
    when_.erase(first->first.second);
    entries_.erase(first);
    mu_.Unlock();
    try {
      run();
    } catch (...) {
      // An entry that throws must not take the others along.
    }
    run = nullptr;
    mu_.Lock();
  }
}

std::shared_ptr<Timer> TimerThread::MakeImmortal() {
  return std::shared_ptr<Timer>(new TimerThread, [](Timer*) {});
}

const std::shared_ptr<Timer>& TimerThread::OfProcess() {
  static const auto& timer = *new std::shared_ptr<Timer>(MakeImmortal());
  return timer;
}

const std::shared_ptr<Timer>& TimerThread::ForNotifications() {
  static const auto& timer = *new std::shared_ptr<Timer>(MakeImmortal());
  return timer;
}

}  // namespace grpc_resilience::internal

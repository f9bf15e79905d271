#include "interceptor/timer_thread.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(1);

}  // namespace

Timer::Id TimerThread::Schedule(TimePoint when, std::function<void()> run,
                                const void* owner) {
  absl::MutexLock lock(&mu_);
  const Id id = next_id_++;
  entries_.emplace(Place(when, id), Entry{std::move(run), owner});
  when_.emplace(id, when);
  if (!started_) started_ = start_([this] { Loop(); });
  if (!started_) RunDueByGrpc(when);
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
  if (!started_ && !due.empty()) RunDueByGrpc(TimePoint::min());
  return due.size();
}

std::size_t TimerThread::pending() const {
  absl::MutexLock lock(&mu_);
  return entries_.size();
}

void TimerThread::Loop() {
  absl::MutexLock lock(&mu_);
  while (true) {
    RunDueLocked();
    if (entries_.empty()) {
      wakes_at_ = TimePoint::max();
      changed_.Wait(&mu_);
      continue;
    }
    wakes_at_ = entries_.begin()->first.first;
    const TimePoint now = Clock::Real().Now();
    // Due, and still there: one of gRPC's threads is at it.
    const Duration at_least = running_due_ ? kPoll : Duration::zero();
    if (wakes_at_ > now || running_due_) {
      changed_.WaitWithTimeout(
          &mu_, absl::FromChrono(std::max(wakes_at_ - now, at_least)));
    }
  }
}

void TimerThread::RunDueLocked() {
  if (running_due_) return;
  running_due_ = true;
  while (!entries_.empty() &&
         entries_.begin()->first.first <= Clock::Real().Now()) {
    const auto first = entries_.begin();
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
  running_due_ = false;
}

void TimerThread::RunDueByGrpc(TimePoint when) {
  auto* const alarm = new grpc::Alarm;
  alarm->Set(ToGprDeadline(Deadline::At(when), Clock::Real().Now()),
             [this, alarm](bool) {
               {
                 absl::MutexLock lock(&mu_);
                 RunDueLocked();
               }
               delete alarm;
             });
}

bool TimerThread::StartDetached(std::function<void()> loop) {
  try {
    std::thread(std::move(loop)).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
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

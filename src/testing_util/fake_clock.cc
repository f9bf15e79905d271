#include "grpc_resilience/testing/fake_clock.h"

#include <algorithm>
#include <vector>

namespace grpc_resilience {

TimePoint FakeClock::Now() const {
  absl::ReaderMutexLock lock(&mu_);
  return now_;
}

std::size_t FakeClock::Advance(Duration length) {
  const TimePoint end =
      SaturatingAdd(Now(), std::max(length, Duration::zero()));
  std::size_t ran = 0;
  while (const std::function<void()> run = Step(end)) {
    run();
    ++ran;
  }
  return ran;
}

std::function<void()> FakeClock::Step(TimePoint end) {
  absl::MutexLock lock(&mu_);
  const auto first = entries_.begin();
  if (first == entries_.end() || first->first.first > end) {
    now_ = std::max(now_, end);
    return nullptr;
  }
  now_ = std::max(now_, first->first.first);
  std::function<void()> run = std::move(first->second.run);
  when_.erase(first->first.second);
  entries_.erase(first);
  return run;
}

Timer::Id FakeClock::Schedule(TimePoint when, std::function<void()> run,
                              const void* owner) {
  absl::MutexLock lock(&mu_);
  const Id id = next_id_++;
  entries_.emplace(Place(when, id), Entry{std::move(run), owner});
  when_.emplace(id, when);
  return id;
}

bool FakeClock::Cancel(Id id) {
  std::function<void()> freed;  // after the lock: it may own anything
  absl::MutexLock lock(&mu_);
  const auto found = when_.find(id);
  if (found == when_.end()) return false;
  const auto entry = entries_.find(Place(found->second, id));
  freed = std::move(entry->second.run);
  entries_.erase(entry);
  when_.erase(found);
  return true;
}

std::size_t FakeClock::ExpireAll(const void* owner) {
  if (owner == nullptr) return 0;
  absl::MutexLock lock(&mu_);
  std::vector<Place> expired;
  for (const auto& [place, entry] : entries_) {
    if (entry.owner == owner) expired.push_back(place);
  }
  for (const Place& place : expired) {
    auto node = entries_.extract(place);
    node.key().first = std::min(place.first, now_);
    when_[place.second] = node.key().first;
    entries_.insert(std::move(node));
  }
  return expired.size();
}

std::size_t FakeClock::pending() const {
  absl::ReaderMutexLock lock(&mu_);
  return entries_.size();
}

}  // namespace grpc_resilience

// Time under a test's control: one object that is read as a Clock and waited on
// as a Timer, so that a test of hours takes no time and never sleeps.
//
//   auto clock = std::make_shared<FakeClock>();
//   clock->Schedule(clock->Now() + std::chrono::seconds(30), [&] { ++runs; },
//                   nullptr);
//   clock->Advance(std::chrono::minutes(1));  // 1: it ran, at its own time
//
//   Resilience::Ports ports;
//   ports.clock = clock.get();  // must outlive the Resilience
//   ports.timer = clock;        // else its waits are real ones

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/timer.h"

namespace grpc_resilience {

/// This type is safe to use from several threads at once.
class FakeClock : public Clock, public Timer {
 public:
  /// Begins an hour after the clock's epoch: zero is no special moment.
  FakeClock() : FakeClock(TimePoint(std::chrono::hours(1))) {}
  explicit FakeClock(TimePoint start) : now_(start) {}

  TimePoint Now() const override;

  /// Moves time forward from one due entry to the next, running each on this
  /// thread at its own time and under no lock; entries scheduled meanwhile that
  /// are due by the end run too. Returns how many ran. Advance(0) runs what is
  /// due already; a negative length counts as 0.
  std::size_t Advance(Duration length);

  Id Schedule(TimePoint when, std::function<void()> run,
              const void* owner) override;
  bool Cancel(Id id) override;
  /// They run in the next Advance.
  std::size_t ExpireAll(const void* owner) override;
  std::size_t pending() const override;

 private:
  struct Entry {
    std::function<void()> run;
    const void* owner = nullptr;
  };
  /// Entries due at the same time run in the order of scheduling.
  using Place = std::pair<TimePoint, Id>;

  /// Moves time to the first entry due by `end`, or to `end`: then empty.
  std::function<void()> Step(TimePoint end);

  mutable absl::Mutex mu_;
  TimePoint now_ ABSL_GUARDED_BY(mu_);
  std::map<Place, Entry> entries_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Id, TimePoint> when_ ABSL_GUARDED_BY(mu_);
  Id next_id_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace grpc_resilience

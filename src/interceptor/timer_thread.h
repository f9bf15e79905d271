// A Timer on one thread of its own, started by the first entry; on gRPC's threads
// as long as the system has no thread to give.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/timer.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. Never destroyed once
/// its thread runs: a program may leave main with entries waiting.
class TimerThread : public Timer {
 public:
  /// Runs `loop` on a new thread; false: there is none to be had.
  using StartThread = bool (*)(std::function<void()> loop);

  TimerThread() : TimerThread(&StartDetached) {}
  explicit TimerThread(StartThread start) : start_(start) {}

  Id Schedule(TimePoint when, std::function<void()> run,
              const void* owner) override;
  bool Cancel(Id id) override;
  std::size_t ExpireAll(const void* owner) override;
  std::size_t pending() const override;

  /// For the waits of every channel of the process that has no timer of its own.
  static const std::shared_ptr<Timer>& OfProcess();
  /// Runs observers, in order, so that a slow one delays no call.
  static const std::shared_ptr<Timer>& ForNotifications();

 private:
  struct Entry {
    std::function<void()> run;
    const void* owner = nullptr;
  };
  /// Entries due at the same time run in the order of scheduling.
  using Place = std::pair<TimePoint, Id>;

  static bool StartDetached(std::function<void()> loop);
  static std::shared_ptr<Timer> MakeImmortal();
  void Loop();
  /// Runs what is due, by one thread at a time; the lock is free meanwhile.
  void RunDueLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Has gRPC do so at `when`.
  void RunDueByGrpc(TimePoint when);

  const StartThread start_;
  mutable absl::Mutex mu_;
  absl::CondVar changed_ ABSL_GUARDED_BY(mu_);
  std::map<Place, Entry> entries_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Id, TimePoint> when_ ABSL_GUARDED_BY(mu_);
  TimePoint wakes_at_ ABSL_GUARDED_BY(mu_) = TimePoint::max();
  Id next_id_ ABSL_GUARDED_BY(mu_) = 1;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool running_due_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace grpc_resilience::internal

// Runs a function now and then on gRPC's alarm threads, and takes no thread in
// between.

#pragma once

#include <grpcpp/alarm.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class Ticker : public std::enable_shared_from_this<Ticker> {
 public:
  struct Pace {
    Duration period{0};  ///< from one tick to the next, while there are more
    Duration gap{0};     ///< never sooner after the last one
  };

  /// `tick` says whether another is wanted after a period; never two at a time.
  static std::shared_ptr<Ticker> Make(Pace pace, std::function<bool()> tick);

  /// Ticks as soon as the gap allows.
  void Soon() ABSL_LOCKS_EXCLUDED(mu_);
  /// No tick begins from now on; one may be under way.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Time = std::chrono::steady_clock::time_point;

  Ticker(Pace pace, std::function<bool()> tick);
  /// The alarm that it replaces, to be let go without the lock.
  std::unique_ptr<grpc::Alarm> ArmLocked(Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fire(std::uint64_t ticket) ABSL_LOCKS_EXCLUDED(mu_);

  const Pace pace_;
  const std::function<bool()> tick_;
  absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  bool ticking_ ABSL_GUARDED_BY(mu_) = false;
  bool again_soon_ ABSL_GUARDED_BY(mu_) = false;
  bool armed_ ABSL_GUARDED_BY(mu_) = false;
  Time armed_for_ ABSL_GUARDED_BY(mu_);
  Time earliest_ ABSL_GUARDED_BY(mu_);
  /// Of the alarm that counts; older ones fire in vain.
  std::uint64_t ticket_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

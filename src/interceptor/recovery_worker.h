// Brings channels of open breakers back. gRPC connects again at its own, growing
// pace and only looks at a channel while somebody polls; an open breaker keeps the
// calls away that would poll. So while a breaker is open a thread of ours
//
//   - keeps a watch on its channel's state, on a queue that it polls;
//   - asks an IDLE channel to connect, and in TRANSIENT_FAILURE resets the backoff
//     of the next connect, every 125 ms ±20 % (every second after ten minutes);
//   - makes the breaker ready for a probe the moment the channel is READY.
//
// Nothing runs while every breaker is closed: threads end when nothing is left to
// watch. Channels are held weakly.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

class ChannelRecovery;
class RecoveryThread;

/// The time from one connect of a channel to the next one: 125 ms, a second once
/// the outage lasts more than ten minutes, longer when there are so many channels
/// down (`channels`) that all together would connect more than 1,000 times a second.
Duration ReconnectPeriod(Duration outage, std::size_t channels);

/// This type is safe to use from several threads at once.
class RecoveryWorker {
 public:
  static RecoveryWorker& OfProcess();

  /// Watches the channel until none of its breakers is open. Never blocks. False:
  /// there is no thread to be had.
  bool Add(std::shared_ptr<ChannelRecovery> recovery);

  /// Channels that are watched.
  std::size_t channels() const {
    return channels_.load(std::memory_order_relaxed);
  }

 private:
  RecoveryWorker() = default;

  std::atomic<std::size_t> channels_{0};
  absl::Mutex mu_;
  /// Registering watches gets slow with many on one queue, so there are several.
  std::vector<std::unique_ptr<RecoveryThread>> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

// All watchers, and what wakes them.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "admin/ticker.h"
#include "admin/transition_log.h"
#include "grpc_resilience/observer.h"

namespace grpc_resilience::internal {

class WatchStream;

/// This type is safe to use from several threads at once.
class WatchHub : public CallObserver {
 public:
  WatchHub(const Clock& clock, std::size_t most_watchers)
      : clock_(clock), most_watchers_(most_watchers), log_(kLogged) {}

  bool HearsCalls() const override { return false; }
  void OnTransition(const TransitionEvent& event) override;

  const TransitionLog& log() const { return log_; }
  /// Is asked to tick when there is something to tell.
  void UseTicker(std::shared_ptr<Ticker> ticker);

  /// RESOURCE_EXHAUSTED when there are too many, UNAVAILABLE after EndAll.
  absl::Status Add(std::shared_ptr<WatchStream> stream)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(const std::shared_ptr<WatchStream>& stream)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Sends what there is to everybody who waits. True: there are watchers.
  bool Tick() ABSL_LOCKS_EXCLUDED(mu_);
  /// Ends every watch, and later ones at once.
  void EndAll() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr std::size_t kLogged = 1024;

  std::vector<std::shared_ptr<WatchStream>> Streams() const
      ABSL_LOCKS_EXCLUDED(mu_);

  const Clock& clock_;
  const std::size_t most_watchers_;
  TransitionLog log_;
  mutable absl::Mutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<Ticker> ticker_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::shared_ptr<WatchStream>> streams_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

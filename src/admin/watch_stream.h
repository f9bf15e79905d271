// One watcher's call. At most one message is under way; what comes meanwhile waits
// in the log that all watchers share.

#pragma once

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "admin/watch_view.h"
#include "grpc_resilience/admin/v1/admin.pb.h"

namespace grpc_resilience::internal {

class WatchHub;

/// This type is safe to use from several threads at once.
class WatchStream : public grpc::ServerWriteReactor<pb::WatchBreakersResponse>,
                    public std::enable_shared_from_this<WatchStream> {
 public:
  using Reactor = grpc::ServerWriteReactor<pb::WatchBreakersResponse>;

  /// Begins a watch; the reactor lives until its call is over.
  static Reactor* Start(std::shared_ptr<WatchHub> hub, WatchView view,
                        Duration patience,
                        grpc::CallbackServerContext* context);
  /// Ends a call at once.
  static Reactor* Refuse(const grpc::Status& status);

  /// Sends what there is, unless a message is under way; ends the call of a watcher
  /// that doesn't take it in time, with RESOURCE_EXHAUSTED.
  void Tick() ABSL_LOCKS_EXCLUDED(mu_);
  /// With UNAVAILABLE, after the message under way.
  void End() ABSL_LOCKS_EXCLUDED(mu_);

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() override;

 private:
  enum class Phase { kWatching, kEnding, kFinished };
  using Time = std::chrono::steady_clock::time_point;

  WatchStream(std::shared_ptr<WatchHub> hub, WatchView view, Duration patience,
              grpc::CallbackServerContext* context);
  void EndWith(grpc::Status status) ABSL_LOCKS_EXCLUDED(mu_);
  /// With `ending_`, past the message under way.
  void Abort() ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<WatchHub> hub_;
  const Duration patience_;
  std::shared_ptr<WatchStream> self_;  ///< until the call is over
  absl::Mutex mu_;
  grpc::CallbackServerContext* const context_;  ///< while not finished
  WatchView view_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kWatching;
  grpc::Status ending_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  /// The call is being aborted, or was.
  bool aborted_ ABSL_GUARDED_BY(mu_) = false;
  bool aborting_ ABSL_GUARDED_BY(mu_) = false;
  Time write_ends_ ABSL_GUARDED_BY(mu_);  ///< or is given up then
  pb::WatchBreakersResponse message_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

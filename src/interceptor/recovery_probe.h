// A probe that the library makes itself instead of spending a caller's call.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <memory>

namespace grpc_resilience::internal {

struct WatchedBreaker;

/// What a tag of a recovery thread's queue is.
class RecoveryEvent {
 public:
  virtual void OnEvent() = 0;

 protected:
  ~RecoveryEvent() = default;
};

/// Of one recovery thread.
class RecoveryProbe {
 public:
  /// Calls `channel` when the breaker lets a probe through and none is under way.
  /// The channel is held until the probe is over.
  static void Start(const std::shared_ptr<WatchedBreaker>& watch,
                    const std::shared_ptr<grpc::Channel>& channel,
                    grpc::CompletionQueue* queue);
};

}  // namespace grpc_resilience::internal

// Hears when the inbound call that a call was made for (FromServerContext) is
// cancelled or out of time while no attempt is on the wire: gRPC then tells only
// the core, so a call of our own that is never sent, a child of the same parent,
// stands in for it.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_op_set.h>

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once, but for Stop.
class ParentWatch {
 public:
  class Owner {
   public:
    /// On a gRPC thread, exactly once, after Start: the parent is over (CANCELLED or
    /// DEADLINE_EXCEEDED), or Stop was called (CANCELLED).
    virtual void OnParentWatchDone(grpc::StatusCode code) = 0;

   protected:
    ~Owner() = default;
  };

  /// `child` was made with FromServerContext; `method` outlives the watch.
  ParentWatch(grpc::ChannelInterface* channel, grpc::ClientContext* child,
              const char* method, Owner* owner);
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;

  /// The watch and its owner may be gone when it returns.
  void Start();
  /// From any thread, also before Start.
  void Stop() { context_.TryCancel(); }

 private:
  struct Done : grpc_completion_queue_functor {
    ParentWatch* watch = nullptr;
  };
  static void OnDone(grpc_completion_queue_functor* done, int ok);

  Owner* const owner_;
  grpc::ClientContext context_;
  grpc::internal::Call call_;
  grpc::Status status_;
  Done done_;
  grpc::internal::CallOpSet<grpc::internal::CallOpClientRecvStatus> ops_;
};

}  // namespace grpc_resilience::internal

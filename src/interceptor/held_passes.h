// The receive passes of a hijacked call that wait for its result. A unary call has
// at most two: one for everything, or initial metadata apart from message and
// status.

#pragma once

#include <grpcpp/support/interceptor.h>

#include "absl/container/inlined_vector.h"

namespace grpc_resilience::internal {

/// What a pass asks for.
struct PassHooks {
  explicit PassHooks(grpc::experimental::InterceptorBatchMethods* methods) {
    using Hook = grpc::experimental::InterceptionHookPoints;
    initial_metadata =
        methods->QueryInterceptionHookPoint(Hook::PRE_RECV_INITIAL_METADATA);
    message = methods->QueryInterceptionHookPoint(Hook::PRE_RECV_MESSAGE);
    status = methods->QueryInterceptionHookPoint(Hook::PRE_RECV_STATUS);
  }
  bool any() const { return initial_metadata || message || status; }

  bool initial_metadata = false;
  bool message = false;
  bool status = false;
};

/// Not safe for use from several threads at once. Copies name the same passes.
class HeldPasses {
 public:
  using Pass = grpc::experimental::InterceptorBatchMethods*;

  void Add(Pass pass) { passes_.push_back(pass); }

  /// Lets go of every pass. Nothing of the call may be touched afterwards: the
  /// caller may have destroyed it.
  void ProceedAll() const {
    for (Pass pass : passes_) pass->Proceed();
  }

  auto begin() const { return passes_.begin(); }
  auto end() const { return passes_.end(); }

 private:
  absl::InlinedVector<Pass, 2> passes_;
};

}  // namespace grpc_resilience::internal

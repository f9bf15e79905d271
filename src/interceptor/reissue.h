// What a call needs only once attempts are issued in its place; made then, so that
// a call that succeeds at once doesn't carry it.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "interceptor/attempt.h"
#include "interceptor/hedges.h"
#include "interceptor/parent_watch.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
struct Reissue {
  AttemptRoute route;
  AttemptRequest request;
  /// The one on the wire, or the last one; a new one takes its place.
  std::optional<Attempt> attempt;
  /// Instead of `attempt`, where the method is hedged.
  std::unique_ptr<Hedges> hedges;
  std::unique_ptr<ParentWatch> watch;
};

}  // namespace grpc_resilience::internal

// Marks the time during which a thread may be one of gRPC's that runs a completion
// or a pass of ours. What could hold the last reference to a channel mustn't be destroyed there: gRPC would
// wait for that very thread.
//
//   std::shared_ptr<Relay> relay = ShareOutsideReactions(new Relay(...), timer);

#pragma once

#include <memory>
#include <utility>

#include "grpc_resilience/timer.h"

namespace grpc_resilience::internal {

/// Not to be shared between threads; nests.
class Reaction {
 public:
  Reaction() { ++depth_; }
  ~Reaction() { --depth_; }
  Reaction(const Reaction&) = delete;
  Reaction& operator=(const Reaction&) = delete;

  static bool Active() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// Owned by references whose last one may go anywhere: where that is a reaction,
/// the object is destroyed on the timer's thread.
template <typename Object>
std::shared_ptr<Object> ShareOutsideReactions(Object* object,
                                              std::shared_ptr<Timer> timer) {
  return std::shared_ptr<Object>(
      object, [timer = std::move(timer)](Object* last) {
        if (!Reaction::Active()) {
          delete last;
          return;
        }
        timer->Schedule(
            TimePoint::min(), [last] { delete last; }, nullptr);
      });
}

}  // namespace grpc_resilience::internal

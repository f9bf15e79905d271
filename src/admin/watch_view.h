// What one watcher is sent next. Holds a place in the list of breakers and one in
// the log of transitions, never a queue.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "admin/messages.h"
#include "admin/transition_log.h"
#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class WatchView {
 public:
  /// What it refers to outlives it.
  WatchView(const BreakerRegistry& registry, const Clock& clock,
            const TransitionLog& log, pb::BreakerFilter filter,
            Duration heartbeat);

  /// Empty: there is nothing to say now.
  std::optional<pb::WatchBreakersResponse> Next();

 private:
  void FillSnapshot(const WallTime& time, pb::WatchBreakersResponse* response);
  /// False: nothing new.
  bool FillFromLog(pb::WatchBreakersResponse* response);

  const BreakerRegistry& registry_;
  const Clock& clock_;
  const TransitionLog& log_;
  const pb::BreakerFilter filter_;
  const Duration heartbeat_;
  TimePoint last_said_;
  bool in_snapshot_ = true;
  std::optional<BreakerKey> snapshot_after_;
  std::uint64_t position_;
};

}  // namespace grpc_resilience::internal

// The core's values as messages, and back.

#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/breaker_rules.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "grpc_resilience/admin/v1/breaker.pb.h"
#include "grpc_resilience/breaker_snapshot.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

namespace pb = admin::v1;

/// What the wall clock shows at times of a monotonic clock. A value type.
class WallTime {
 public:
  explicit WallTime(const Clock& clock)
      : now_(clock.Now()), wall_now_(std::chrono::system_clock::now()) {}

  TimePoint now() const { return now_; }
  google::protobuf::Timestamp At(TimePoint time) const;

 private:
  TimePoint now_;
  std::chrono::system_clock::time_point wall_now_;
};

google::protobuf::Duration ToProto(Duration duration);
/// At the ends of the range when it is beyond.
Duration FromProto(const google::protobuf::Duration& duration);

pb::BreakerKey ToProto(const BreakerKey& key);
BreakerKey FromProto(const pb::BreakerKey& key);
pb::State ToProto(State state);
pb::Mode ToProto(OperatorMode mode);
/// Of one that isn't MODE_UNSPECIFIED.
OperatorMode FromProto(pb::Mode mode);

/// `rules` are the breaker's own.
pb::Breaker ToProto(const BreakerSnapshot& snapshot, const BreakerRules& rules,
                    const WallTime& time);
pb::Transition ToProto(const TransitionEvent& event, const WallTime& time);

}  // namespace grpc_resilience::internal

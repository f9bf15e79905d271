// Breakers and transitions for people.

#pragma once

#include <string>
#include <vector>

#include "google/protobuf/timestamp.pb.h"
#include "tools/resiliencectl/options.h"
#include "tools/resiliencectl/table.h"

namespace grpc_resilience::tools {

struct BreakerOf {
  std::string address;
  pb::Breaker breaker;
};

/// `with_address` when there are several processes.
Table BreakerTable(const std::vector<BreakerOf>& breakers, bool with_address);

std::string NameOf(const pb::BreakerKey& key);
/// "14:03:05.120", local time.
std::string ClockOf(const google::protobuf::Timestamp& time);
/// Since then.
Duration AgeOf(const google::protobuf::Timestamp& time);
/// "payments:443 CLOSED -> OPEN: token bucket empty: 16 failures".
std::string TextOf(const pb::Transition& transition);
Color ColorOf(pb::State state, pb::Mode mode);

}  // namespace grpc_resilience::tools

// Walks through the breakers in the order of their keys, a part at a time, without
// holding up anybody: the registry is asked for a few at once.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "admin/messages.h"
#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience::internal {

/// Matches by key alone.
bool KeyMatches(const pb::BreakerFilter& filter, const BreakerKey& key);

/// As an operator sees it.
pb::Breaker MessageOf(const CircuitBreaker& breaker, const WallTime& time);

struct BreakerPage {
  std::vector<pb::Breaker> breakers;
  /// Where to go on; unset: there are no more.
  std::optional<BreakerKey> last;
};
/// At most `most` breakers after `after`; fewer, with `last` set, when very many
/// don't match.
BreakerPage ReadPage(const BreakerRegistry& registry,
                     const pb::BreakerFilter& filter,
                     const std::optional<BreakerKey>& after, std::size_t most,
                     const WallTime& time);

/// An opaque text that says where to go on, with that filter.
std::string PageToken(const pb::BreakerFilter& filter, const BreakerKey& last);
/// INVALID_ARGUMENT when it isn't one, or belongs to another filter.
absl::StatusOr<BreakerKey> ParsePageToken(const pb::BreakerFilter& filter,
                                          std::string_view token);

}  // namespace grpc_resilience::internal

// An entry of the queue as a row of its table.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grpc_resilience/queue_store.h"
#include "queue/sqlite_database.h"

namespace grpc_resilience::internal {

/// Of one entry, in the order of MakeEntry.
inline constexpr char kQueueColumns[] =
    "id, target, method, request, metadata, ordering_key, queued_ms, "
    "expires_ms, not_before_ms, deliveries, last_error, dead, owner, "
    "leased_until_ms, fence";

inline std::int64_t Ms(WallTime time) {
  return time.time_since_epoch().count();
}

/// Metadata as one blob: each text after its size.
std::string ToBlob(
    const std::vector<std::pair<std::string, std::string>>& metadata);

/// `row` has kQueueColumns.
QueueEntry MakeEntry(const SqliteStatement& row);

}  // namespace grpc_resilience::internal

// Where requests wait that couldn't be delivered: a port. The component "queue" has
// SqliteQueueStore; CallQueue puts requests in and delivers them.
//
// Times are the wall clock's, because they outlive the process; every function is told
// what time it is. One file may be open in several processes: an entry is delivered by
// who holds its lease, and a lease that was overtaken changes nothing any more (fence).

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc_resilience {

using WallTime = std::chrono::time_point<std::chrono::system_clock,
                                         std::chrono::milliseconds>;

/// A request that is to be delivered. A value type.
struct QueuedRequest {
  std::string target;
  std::string method;
  std::string request;  ///< serialised
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Entries of one target with the same key are delivered in the order in which
  /// they were put, one at a time. Empty: in no order.
  std::string ordering_key;
  WallTime queued;
  WallTime expires;
};

/// A value type.
struct QueueEntry : QueuedRequest {
  std::int64_t id = 0;
  WallTime not_before;
  int deliveries = 0;      ///< that failed
  std::string last_error;  ///< of the last delivery, or why it is dead
  bool dead = false;
  std::string owner;  ///< of the lease; empty: none
  WallTime leased_until;
  std::int64_t fence = 0;  ///< grows with every lease
};

/// Implementations must be safe to use from several threads at once. Functions may
/// block; an error says in its message what the matter is, and then nothing has
/// changed.
class QueueStore {
 public:
  using Ids = std::vector<std::int64_t>;

  virtual ~QueueStore() = default;

  /// All or none; when it returns OK they survive a crash. Ids grow.
  virtual absl::StatusOr<Ids> Put(
      const std::vector<QueuedRequest>& requests) = 0;
  /// Removes those that were never leased.
  virtual absl::Status Withdraw(const Ids& ids) = 0;

  /// Up to `most` entries of `target` that are due, for `owner` alone until `until`.
  /// Those whose time is over become dead letters first.
  virtual absl::StatusOr<std::vector<QueueEntry>> Lease(std::string_view target,
                                                        std::string_view owner,
                                                        WallTime now,
                                                        WallTime until,
                                                        int most) = 0;

  // What becomes of a leased entry. False: the lease had been overtaken.

  virtual absl::StatusOr<bool> Complete(const QueueEntry& leased) = 0;
  /// `counts`: as a delivery that failed.
  virtual absl::StatusOr<bool> Retry(const QueueEntry& leased,
                                     WallTime not_before, bool counts,
                                     std::string_view error) = 0;
  virtual absl::StatusOr<bool> Bury(const QueueEntry& leased,
                                    std::string_view why) = 0;

  // For people.

  /// A value type.
  struct Filter {
    std::string target;  ///< empty: all
    bool only_dead = false;
    std::int64_t after_id = 0;
    int limit = 100;
  };
  /// In the order of the ids.
  virtual absl::StatusOr<std::vector<QueueEntry>> List(
      const Filter& filter) = 0;
  /// Dead letters that wait for delivery again, with their full time to live; all
  /// of them when `ids` is empty. The number of entries it was.
  virtual absl::StatusOr<int> Revive(const Ids& ids, WallTime now) = 0;
  /// Removes entries that nobody delivers right now. The number it was.
  virtual absl::StatusOr<int> Drop(const Ids& ids, WallTime now) = 0;

  /// A value type.
  struct Counts {
    std::int64_t waiting = 0;
    std::int64_t dead = 0;
  };
  virtual absl::StatusOr<Counts> Count() = 0;
};

}  // namespace grpc_resilience

// A QueueStore in one SQLite file (WAL mode, synchronous=FULL).
//
//   auto store = std::make_shared<SqliteQueueStore>("/var/lib/shop/payments.queue");

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/queue_store.h"

namespace grpc_resilience {

namespace internal {
class SqliteDatabase;
}  // namespace internal

/// Opens the file, and makes it, at the first use; after an error it is opened anew. A
/// lock of another process is waited for `lock_timeout` at most. This type is safe to
/// use from several threads at once; the file from several processes of one machine,
/// not over a network.
class SqliteQueueStore : public QueueStore {
 public:
  explicit SqliteQueueStore(
      std::string path,
      std::chrono::milliseconds lock_timeout = std::chrono::milliseconds(250));
  ~SqliteQueueStore() override;

  absl::StatusOr<Ids> Put(const std::vector<QueuedRequest>& requests) override;
  absl::Status Withdraw(const Ids& ids) override;
  absl::StatusOr<std::vector<QueueEntry>> Lease(std::string_view target,
                                                std::string_view owner,
                                                WallTime now, WallTime until,
                                                int most) override;
  absl::StatusOr<bool> Complete(const QueueEntry& leased) override;
  absl::StatusOr<bool> Retry(const QueueEntry& leased, WallTime not_before,
                             bool counts, std::string_view error) override;
  absl::StatusOr<bool> Bury(const QueueEntry& leased,
                            std::string_view why) override;
  absl::StatusOr<std::vector<QueueEntry>> List(const Filter& filter) override;
  absl::StatusOr<int> Revive(const Ids& ids, WallTime now) override;
  absl::StatusOr<int> Drop(const Ids& ids, WallTime now) override;
  absl::StatusOr<Counts> Count() override;

 private:
  template <typename Result, typename Work>
  Result Do(Work work);

  const std::string path_;
  const std::chrono::milliseconds lock_timeout_;
  absl::Mutex mu_;
  std::unique_ptr<internal::SqliteDatabase> database_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

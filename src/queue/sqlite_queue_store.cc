#include "grpc_resilience/sqlite_queue_store.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "queue/queue_row.h"
#include "queue/sqlite_database.h"

namespace grpc_resilience {
namespace {

using internal::Ms;
using internal::SqliteDatabase;
using internal::SqliteStatement;
using internal::SqliteTransaction;
using internal::ToBlob;

absl::StatusOr<std::vector<QueueEntry>> ReadEntries(SqliteStatement* rows) {
  std::vector<QueueEntry> entries;
  for (;;) {
    const absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return entries;
    entries.push_back(internal::MakeEntry(*rows));
  }
}

// "1,2,3"; numbers only, so they may be part of a statement.
std::string TextOf(const QueueStore::Ids& ids) {
  return absl::StrJoin(ids, ",");
}

absl::Status Expire(SqliteDatabase* database, WallTime now) {
  auto statement = database->Prepare(
      "UPDATE calls SET dead = 1, owner = '', last_error = 'expired; ' || "
      "last_error WHERE dead = 0 AND expires_ms <= ? AND leased_until_ms <= ?");
  if (!statement.ok()) return statement.status();
  return statement->Bind(Ms(now)).Bind(Ms(now)).Run();
}

absl::StatusOr<std::vector<QueueEntry>> FindDue(SqliteDatabase* database,
                                                std::string_view target,
                                                WallTime now, int most) {
  auto due = database->Prepare(absl::StrCat(
      "SELECT ", internal::kQueueColumns,
      " FROM calls AS c WHERE target = ? AND dead = 0 AND not_before_ms <= ? "
      "AND leased_until_ms <= ? AND (ordering_key = x'' OR NOT EXISTS (SELECT "
      "1 FROM calls AS earlier WHERE earlier.dead = 0 AND "
      "earlier.ordering_key <> x'' AND earlier.target = c.target AND "
      "earlier.ordering_key = c.ordering_key AND earlier.id < c.id)) "
      "ORDER BY id LIMIT ?"));
  if (!due.ok()) return due.status();
  due->Text(target).Bind(Ms(now)).Bind(Ms(now)).Bind(most);
  return ReadEntries(&*due);
}

// Runs a statement on the entry while its lease holds; the statement ends with "WHERE
// id = ? AND owner = ? AND fence = ?".
absl::StatusOr<bool> Settle(SqliteDatabase* database,
                            SqliteStatement* statement,
                            const QueueEntry& leased) {
  statement->Bind(leased.id).Text(leased.owner).Bind(leased.fence);
  if (absl::Status status = statement->Run(); !status.ok()) return status;
  return database->changes() > 0;
}

constexpr char kWhileLeased[] = " WHERE id = ? AND owner = ? AND fence = ?";

}  // namespace

SqliteQueueStore::SqliteQueueStore(std::string path,
                                   std::chrono::milliseconds lock_timeout)
    : path_(std::move(path)), lock_timeout_(lock_timeout) {}

SqliteQueueStore::~SqliteQueueStore() = default;

// Whatever goes wrong, the next use begins with the file as it then is.
template <typename Result, typename Work>
Result SqliteQueueStore::Do(Work work) {
  absl::MutexLock lock(&mu_);
  if (database_ == nullptr) {
    auto opened = SqliteDatabase::Open(path_, lock_timeout_);
    if (!opened.ok()) return opened.status();
    database_ = *std::move(opened);
  }
  Result result = work(database_.get());
  if (!result.ok()) database_ = nullptr;
  return result;
}

absl::StatusOr<QueueStore::Ids> SqliteQueueStore::Put(
    const std::vector<QueuedRequest>& requests) {
  using Result = absl::StatusOr<Ids>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    SqliteTransaction transaction(database);
    if (auto status = transaction.Begin(); !status.ok()) return status;
    auto insert = database->Prepare(
        "INSERT INTO calls(target, method, request, metadata, ordering_key, "
        "queued_ms, expires_ms, not_before_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    if (!insert.ok()) return insert.status();
    Ids ids;
    for (const QueuedRequest& request : requests) {
      insert->Reset();
      insert->Text(request.target)
          .Text(request.method)
          .Blob(request.request)
          .Blob(ToBlob(request.metadata))
          .Blob(request.ordering_key)
          .Bind(Ms(request.queued))
          .Bind(Ms(request.expires))
          .Bind(Ms(request.queued));
      if (auto status = insert->Run(); !status.ok()) return status;
      ids.push_back(database->last_id());
    }
    insert->Reset();
    if (auto status = transaction.Commit(); !status.ok()) return status;
    return ids;
  });
}

absl::Status SqliteQueueStore::Withdraw(const Ids& ids) {
  return Do<absl::Status>([&](SqliteDatabase* database) {
    return database->Run(
        absl::StrCat("DELETE FROM calls WHERE fence = 0 AND id IN (",
                     TextOf(ids), ")")
            .c_str());
  });
}

absl::StatusOr<std::vector<QueueEntry>> SqliteQueueStore::Lease(
    std::string_view target, std::string_view owner, WallTime now,
    WallTime until, int most) {
  using Result = absl::StatusOr<std::vector<QueueEntry>>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    // Looks before it takes the file's lock: mostly there is nothing to do.
    auto some = database->Prepare(
        "SELECT 1 FROM calls WHERE target = ? AND dead = 0 AND not_before_ms "
        "<= ? AND leased_until_ms <= ? LIMIT 1");
    if (!some.ok()) return some.status();
    const auto any = some->Text(target).Bind(Ms(now)).Bind(Ms(now)).Step();
    if (!any.ok()) return any.status();
    some->Reset();
    if (!*any) return std::vector<QueueEntry>();

    SqliteTransaction transaction(database);
    if (auto status = transaction.Begin(); !status.ok()) return status;
    if (auto status = Expire(database, now); !status.ok()) return status;
    Result entries = FindDue(database, target, now, most);
    if (!entries.ok()) return entries;
    auto take = database->Prepare(
        "UPDATE calls SET owner = ?, leased_until_ms = ?, fence = fence + 1 "
        "WHERE id = ?");
    if (!take.ok()) return take.status();
    for (QueueEntry& entry : *entries) {
      take->Reset();
      take->Text(owner).Bind(Ms(until)).Bind(entry.id);
      if (auto status = take->Run(); !status.ok()) return status;
      entry.owner = std::string(owner);
      entry.leased_until = until;
      ++entry.fence;
    }
    take->Reset();
    if (auto status = transaction.Commit(); !status.ok()) return status;
    return entries;
  });
}

absl::StatusOr<bool> SqliteQueueStore::Complete(const QueueEntry& leased) {
  using Result = absl::StatusOr<bool>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto statement =
        database->Prepare(absl::StrCat("DELETE FROM calls", kWhileLeased));
    if (!statement.ok()) return statement.status();
    return Settle(database, &*statement, leased);
  });
}

absl::StatusOr<bool> SqliteQueueStore::Retry(const QueueEntry& leased,
                                             WallTime not_before, bool counts,
                                             std::string_view error) {
  using Result = absl::StatusOr<bool>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto statement = database->Prepare(absl::StrCat(
        "UPDATE calls SET owner = '', leased_until_ms = 0, not_before_ms = ?, "
        "deliveries = deliveries + ?, last_error = ?",
        kWhileLeased));
    if (!statement.ok()) return statement.status();
    statement->Bind(Ms(not_before)).Bind(counts ? 1 : 0).Text(error);
    return Settle(database, &*statement, leased);
  });
}

absl::StatusOr<bool> SqliteQueueStore::Bury(const QueueEntry& leased,
                                            std::string_view why) {
  using Result = absl::StatusOr<bool>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto statement = database->Prepare(absl::StrCat(
        "UPDATE calls SET dead = 1, owner = '', leased_until_ms = 0, "
        "deliveries = deliveries + 1, last_error = ?",
        kWhileLeased));
    if (!statement.ok()) return statement.status();
    statement->Text(why);
    return Settle(database, &*statement, leased);
  });
}

absl::StatusOr<std::vector<QueueEntry>> SqliteQueueStore::List(
    const Filter& filter) {
  using Result = absl::StatusOr<std::vector<QueueEntry>>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto rows = database->Prepare(absl::StrCat(
        "SELECT ", internal::kQueueColumns,
        " FROM calls WHERE id > ?1 AND dead >= ?2 AND (?3 = '' OR target = ?3) "
        "ORDER BY id LIMIT ?4"));
    if (!rows.ok()) return rows.status();
    rows->Bind(filter.after_id)
        .Bind(filter.only_dead ? 1 : 0)
        .Text(filter.target)
        .Bind(filter.limit);
    return ReadEntries(&*rows);
  });
}

absl::StatusOr<int> SqliteQueueStore::Revive(const Ids& ids, WallTime now) {
  using Result = absl::StatusOr<int>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto statement = database->Prepare(absl::StrCat(
        "UPDATE calls SET dead = 0, deliveries = 0, not_before_ms = ?1, "
        "expires_ms = ?1 + (expires_ms - queued_ms), queued_ms = ?1 WHERE dead "
        "= 1",
        ids.empty() ? "" : absl::StrCat(" AND id IN (", TextOf(ids), ")")));
    if (!statement.ok()) return statement.status();
    if (auto status = statement->Bind(Ms(now)).Run(); !status.ok()) {
      return status;
    }
    return database->changes();
  });
}

absl::StatusOr<int> SqliteQueueStore::Drop(const Ids& ids, WallTime now) {
  using Result = absl::StatusOr<int>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto statement = database->Prepare(
        absl::StrCat("DELETE FROM calls WHERE leased_until_ms <= ? AND id IN (",
                     TextOf(ids), ")"));
    if (!statement.ok()) return statement.status();
    if (auto status = statement->Bind(Ms(now)).Run(); !status.ok()) {
      return status;
    }
    return database->changes();
  });
}

absl::StatusOr<QueueStore::Counts> SqliteQueueStore::Count() {
  using Result = absl::StatusOr<Counts>;
  return Do<Result>([&](SqliteDatabase* database) -> Result {
    auto row = database->Prepare(
        "SELECT COUNT(*) - TOTAL(dead), TOTAL(dead) FROM calls");
    if (!row.ok()) return row.status();
    if (auto stepped = row->Step(); !stepped.ok()) return stepped.status();
    Counts counts;
    counts.waiting = row->Number(0);
    counts.dead = row->Number(1);
    return counts;
  });
}

}  // namespace grpc_resilience

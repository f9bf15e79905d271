// As much of SQLite as the queue needs, with absl::Status for its codes.

#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc_resilience::internal {

/// What a result code of SQLite means to somebody who knows of no database.
absl::Status SqliteError(int code);

class SqliteStatement;

/// Not safe for use from several threads at once.
class SqliteDatabase {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path, std::chrono::milliseconds lock_timeout);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  /// One or more statements without results.
  absl::Status Run(const char* sql);
  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql);

  std::int64_t last_id() const;
  int changes() const;

 private:
  explicit SqliteDatabase(sqlite3* handle) : handle_(handle) {}
  sqlite3* const handle_;
};

/// Parameters are bound in their order. Not safe for use from several threads at once.
class SqliteStatement {
 public:
  SqliteStatement(SqliteStatement&&) = default;

  SqliteStatement& Bind(std::int64_t value);
  SqliteStatement& Text(std::string_view value);
  SqliteStatement& Blob(std::string_view value);

  /// True: there is a row.
  absl::StatusOr<bool> Step();
  /// To the end, without looking at rows.
  absl::Status Run();
  /// To be run again.
  void Reset();

  std::int64_t Number(int column) const;
  std::string Bytes(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit SqliteStatement(sqlite3_stmt* handle) : handle_(handle) {}
  void Note(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bound_ = 0;
  int error_ = 0;  // of a Bind
};

/// BEGIN IMMEDIATE; ROLLBACK unless committed. Not safe for use from several threads
/// at once.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase* database) : database_(database) {}
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  absl::Status Begin();
  absl::Status Commit();

 private:
  SqliteDatabase* const database_;
  bool open_ = false;
};

}  // namespace grpc_resilience::internal

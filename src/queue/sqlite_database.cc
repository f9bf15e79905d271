#include "queue/sqlite_database.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kSchema[] = R"sql(
  CREATE TABLE IF NOT EXISTS calls(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,
    method TEXT NOT NULL,
    request BLOB NOT NULL,
    metadata BLOB NOT NULL,
    ordering_key BLOB NOT NULL,
    queued_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    not_before_ms INTEGER NOT NULL,
    deliveries INTEGER NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    dead INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    leased_until_ms INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0);
  CREATE INDEX IF NOT EXISTS calls_due ON calls(target, dead, not_before_ms);
  CREATE INDEX IF NOT EXISTS calls_expiry ON calls(dead, expires_ms);
  CREATE INDEX IF NOT EXISTS calls_order ON calls(target, ordering_key, id)
    WHERE dead = 0 AND ordering_key <> x'';
  PRAGMA user_version = 1;
)sql";

}  // namespace

absl::Status SqliteError(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError("the disk is full");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError("the queue file is locked");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
      return absl::DataLossError("the queue file is corrupt");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError("the queue file can't be written");
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError("the queue file can't be opened");
    case SQLITE_TOOBIG:
      return absl::ResourceExhaustedError("too large for the queue file");
    default:
      return absl::InternalError(
          absl::StrCat("the queue file: ", sqlite3_errstr(code)));
  }
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path, std::chrono::milliseconds lock_timeout) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
      nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(handle));
  if (code != SQLITE_OK) return SqliteError(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(lock_timeout.count()));
  if (absl::Status status = database->Run(
          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      !status.ok()) {
    return status;
  }
  auto version = database->Prepare("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (auto row = version->Step(); !row.ok()) return row.status();
  const std::int64_t number = version->Number(0);
  version->Reset();
  if (number == 1) return database;
  if (number != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the queue file is of version ", number, ", not 1"));
  }
  SqliteTransaction transaction(database.get());
  absl::Status made = transaction.Begin();
  if (made.ok()) made = database->Run(kSchema);
  if (made.ok()) made = transaction.Commit();
  if (!made.ok()) return made;
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(handle_); }

absl::Status SqliteDatabase::Run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(code);
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(
      handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return SqliteError(code);
  return SqliteStatement(statement);
}

std::int64_t SqliteDatabase::last_id() const {
  return sqlite3_last_insert_rowid(handle_);
}
int SqliteDatabase::changes() const { return sqlite3_changes(handle_); }

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::Note(int code) {
  if (code != SQLITE_OK && error_ == SQLITE_OK) error_ = code;
}

SqliteStatement& SqliteStatement::Bind(std::int64_t value) {
  Note(sqlite3_bind_int64(handle_.get(), ++bound_, value));
  return *this;
}

SqliteStatement& SqliteStatement::Text(std::string_view value) {
  Note(sqlite3_bind_text64(handle_.get(), ++bound_, value.data(), value.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

SqliteStatement& SqliteStatement::Blob(std::string_view value) {
  // A null pointer would be NULL instead of nothing.
  Note(sqlite3_bind_blob64(handle_.get(), ++bound_,
                           value.empty() ? "" : value.data(), value.size(),
                           SQLITE_TRANSIENT));
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (error_ != SQLITE_OK) return SqliteError(error_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(code);
}

absl::Status SqliteStatement::Run() {
  for (;;) {
    const absl::StatusOr<bool> row = Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
  }
}

void SqliteStatement::Reset() {
  sqlite3_reset(handle_.get());
  bound_ = 0;
  error_ = SQLITE_OK;
}

std::int64_t SqliteStatement::Number(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string SqliteStatement::Bytes(int column) const {
  const auto* data =
      static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return data == nullptr ? std::string()
                         : std::string(data, static_cast<std::size_t>(size));
}

SqliteTransaction::~SqliteTransaction() {
  if (open_) static_cast<void>(database_->Run("ROLLBACK"));
}

absl::Status SqliteTransaction::Begin() {
  absl::Status status = database_->Run("BEGIN IMMEDIATE");
  open_ = status.ok();
  return status;
}

absl::Status SqliteTransaction::Commit() {
  absl::Status status = database_->Run("COMMIT");
  if (status.ok()) open_ = false;
  return status;
}

}  // namespace grpc_resilience::internal

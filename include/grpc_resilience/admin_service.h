// The admin service grpc_resilience.admin.v1.ResilienceAdmin, for a server of
// yours: list, watch and explain breakers, force and reset them.
//
//   AdminOptions options;
//   options.authoriser = LocalReadOnlyAuthoriser();
//   auto admin = AdminService::Create(resilience, std::move(options));  // StatusOr
//   builder.RegisterService((*admin)->service());
//   ...
//   (*admin)->EndWatches();  // or the server waits for the watchers
//   server->Shutdown();
//
// Takes no thread while it waits; answers run on gRPC's callback threads, and lines
// of the default log are written by one of its own.
// admin_server.h has a server of its own.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpc_resilience/admin_authoriser.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/resilience.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace grpc_resilience {

namespace internal {
class AdminServiceImpl;
}  // namespace internal

/// Somebody changed something, or wasn't let: by a call of any method that was
/// refused. A value type.
struct AdminLogEntry {
  std::string who;     ///< as the authoriser says; empty: it doesn't know
  std::string peer;    ///< "ipv4:127.0.0.1:40312"
  std::string action;  ///< the method: "ForceMode", "ResetBreaker", …
  BreakerKey key;    ///< of a change by a known caller; names are cut at 1 KiB
  std::string what;  ///< "FORCED_OPEN for 10 min"
  std::string reason;  ///< the caller's words, as `key`
  absl::Status result;
  /// Refused calls since the last one that was logged.
  std::uint64_t not_logged = 0;
};

/// One line: "admin: alice (ipv4:127.0.0.1:40312) ForceMode "payments:443"
/// FORCED_OPEN for 10 min, reason "database is being moved": OK".
std::string ToString(const AdminLogEntry& entry);

/// Called after each change, and for refused calls: of unknown callers (UNAUTHENTICATED)
/// ten at once and then one a second, of known ones (PERMISSION_DENIED) likewise.
/// No entry holds a token. On a gRPC thread: must be quick and never block. An
/// exception is swallowed.
using AdminLog = std::function<void(const AdminLogEntry& entry)>;

struct AdminOptions {
  /// Must be set: there is no service that is open to everybody by mistake.
  AdminAuthoriserPtr authoriser;
  /// Default empty: one line on stderr, written by a thread that runs while there
  /// are any. While stderr takes nothing 256 lines wait, and later ones are
  /// dropped and counted.
  AdminLog log;
  /// Further ones get RESOURCE_EXHAUSTED. Range: [1, 100000]. Default: 1000.
  int max_watchers = 1000;
  /// Breakers whose outcomes are kept at once. Range: [1, 1000]. Default: 16.
  int max_recordings = 16;
  /// A watcher that has taken nothing for so long is ended with
  /// RESOURCE_EXHAUSTED. Range: ≥ 1 s.
  /// Default: 1 min.
  Duration watcher_patience = std::chrono::minutes(1);
};

/// This type is safe to use from several threads at once.
class AdminService {
 public:
  /// INVALID_ARGUMENT names every fault of the options at once.
  static absl::StatusOr<std::unique_ptr<AdminService>> Create(
      std::shared_ptr<Resilience> resilience, AdminOptions options);

  /// After the server that it is registered with.
  ~AdminService();

  /// For ServerBuilder::RegisterService; lives as long as this object.
  grpc::Service* service();

  /// Ends every watch with UNAVAILABLE, and later ones at once; a message that a
  /// watcher doesn't take is given up after a second. Before grpc::Server::Shutdown,
  /// which waits for calls.
  void EndWatches();

 private:
  explicit AdminService(std::unique_ptr<internal::AdminServiceImpl> impl);

  const std::unique_ptr<internal::AdminServiceImpl> impl_;
};

}  // namespace grpc_resilience

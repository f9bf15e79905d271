// The admin service on a server of its own, with reflection, on a Unix socket or
// the loopback interface. Component admin_server; beware: a program that is linked
// with gRPC's reflection library has reflection on every server that it makes.
//
//   AdminServerOptions options;
//   options.address = "unix:/run/shop/admin.sock";
//   options.service.authoriser = LocalReadOnlyAuthoriser();
//   auto server = AdminServer::Start(resilience, std::move(options));  // StatusOr

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpc_resilience/admin_service.h"
#include "grpc_resilience/resilience.h"

namespace grpc {
class Server;
class ServerCredentials;
}  // namespace grpc

namespace grpc_resilience {

struct AdminServerOptions {
  /// "unix:/path", "unix-abstract:name", "localhost:port", "127.0.0.1:port" or
  /// "[::1]:port"; port 0: one that is free. The file of a socket is replaced when
  /// it is there, and for its owner only (put it into a directory that is, too).
  std::string address = "localhost:0";
  AdminOptions service;
  /// Null: none; only where `address` is local.
  std::shared_ptr<grpc::ServerCredentials> credentials;
  /// True: `address` may be any; then `credentials` must be set.
  bool beyond_this_machine = false;
};

/// This type is safe to use from several threads at once.
class AdminServer {
 public:
  /// INVALID_ARGUMENT names what is wrong with the options; UNAVAILABLE: the
  /// address is taken, or can't be listened on.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      std::shared_ptr<Resilience> resilience, AdminServerOptions options);

  /// Ends watches and calls.
  ~AdminServer();

  /// For clients: "unix:/run/shop/admin.sock", "localhost:40312".
  const std::string& address() const { return address_; }

 private:
  AdminServer(std::unique_ptr<AdminService> service,
              std::unique_ptr<grpc::Server> server, std::string address);

  const std::unique_ptr<AdminService> service_;
  const std::unique_ptr<grpc::Server> server_;
  const std::string address_;
};

}  // namespace grpc_resilience

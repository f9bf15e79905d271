#include "grpc_resilience/admin_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "admin/caller.h"

namespace grpc_resilience {
namespace {

bool IsLocalAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:") ||
      absl::StartsWith(address, "unix-abstract:") ||
      absl::StartsWith(address, "localhost:")) {
    return true;
  }
  return internal::IsLocalPeer(absl::StrCat("ipv4:", address)) ||
         internal::IsLocalPeer(absl::StrCat("ipv6:", address));
}

absl::Status Check(const AdminServerOptions& options) {
  if (options.beyond_this_machine) {
    if (options.credentials != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "admin server: beyond_this_machine needs credentials");
  }
  if (IsLocalAddress(options.address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "admin server: address = \"", options.address,
      "\": must be unix:…, localhost:…, 127.0.0.1:… or [::1]:…, unless "
      "beyond_this_machine is true"));
}

// "localhost:0" with the port that it became.
std::string AddressWithPort(const std::string& address, int port) {
  if (absl::StartsWith(address, "unix")) return address;
  return absl::StrCat(address.substr(0, address.rfind(':') + 1), port);
}

// "unix:/path" and "unix:///path".
std::string SocketPath(absl::string_view address) {
  if (!absl::ConsumePrefix(&address, "unix:")) return "";
  absl::ConsumePrefix(&address, "//");
  return std::string(address);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    std::shared_ptr<Resilience> resilience, AdminServerOptions options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  auto service =
      AdminService::Create(std::move(resilience), std::move(options.service));
  if (!service.ok()) return service.status();

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.address,
                           options.credentials != nullptr
                               ? options.credentials
                               : grpc::InsecureServerCredentials(),
                           &port);
  // A port in use is an error, not something to share.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService((*service)->service());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "admin server: can't listen on \"", options.address, "\""));
  }
  if (const std::string path = SocketPath(options.address); !path.empty()) {
    if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) {
      return absl::UnavailableError(
          absl::StrCat("admin server: can't set the rights of ", path));
    }
  }
  std::string address = AddressWithPort(options.address, port);
  return std::unique_ptr<AdminServer>(new AdminServer(
      *std::move(service), std::move(server), std::move(address)));
}

AdminServer::AdminServer(std::unique_ptr<AdminService> service,
                         std::unique_ptr<grpc::Server> server,
                         std::string address)
    : service_(std::move(service)),
      server_(std::move(server)),
      address_(std::move(address)) {}

AdminServer::~AdminServer() {
  service_->EndWatches();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
}

}  // namespace grpc_resilience

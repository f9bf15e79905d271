#include "admin/caller.h"

#include <grpcpp/security/auth_context.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace grpc_resilience::internal {
namespace {

constexpr absl::string_view kBearer = "Bearer ";

std::string_view View(absl::string_view text) {
  return {text.data(), text.size()};
}

std::optional<std::string_view> TokenOf(
    const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  if (metadata.count("authorization") != 1) return std::nullopt;
  const grpc::string_ref value = metadata.find("authorization")->second;
  const absl::string_view text(value.data(), value.size());
  if (!absl::StartsWithIgnoreCase(text, kBearer)) return std::nullopt;
  return View(text.substr(kBearer.size()));
}

std::vector<std::string> NamesOf(const grpc::ServerContextBase& context) {
  std::vector<std::string> names;
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return names;
  for (const grpc::string_ref& name : auth->GetPeerIdentity()) {
    names.emplace_back(name.data(), name.size());
  }
  return names;
}

// "127.1.2.3" or "127.1.2.3:443".
bool IsLoopback4(absl::string_view host) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(host.substr(0, host.find(':')), '.');
  if (parts.size() != 4 || parts[0] != "127") return false;
  for (const absl::string_view part : parts) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 0 || number > 255) {
      return false;
    }
  }
  return true;
}

// "[::1]:443"; gRPC writes the brackets as %5B and %5D.
bool IsLoopback6(absl::string_view host) {
  if (!absl::ConsumePrefix(&host, "[") && !absl::ConsumePrefix(&host, "%5B")) {
    return false;
  }
  std::size_t end = host.find(']');
  if (end == absl::string_view::npos) end = host.find("%5D");
  if (end == absl::string_view::npos) return false;
  host = host.substr(0, end);
  if (absl::ConsumePrefix(&host, "::ffff:")) return IsLoopback4(host);
  return host == "::1";
}

// What an authoriser says is told and logged; it may have quoted the token.
absl::Status WithoutToken(const absl::Status& status,
                          const AdminCaller& caller) {
  if (!caller.token || caller.token->empty()) return status;
  const absl::string_view token(caller.token->data(), caller.token->size());
  return absl::Status(status.code(), absl::StrReplaceAll(status.message(),
                                                         {{token, "(token)"}}));
}

}  // namespace

bool IsLocalPeer(std::string_view peer) {
  absl::string_view host(peer.data(), peer.size());
  if (host == "inproc" || absl::StartsWith(host, "unix:") ||
      absl::StartsWith(host, "unix-abstract:")) {
    return true;
  }
  if (absl::ConsumePrefix(&host, "ipv4:")) return IsLoopback4(host);
  if (absl::ConsumePrefix(&host, "ipv6:")) return IsLoopback6(host);
  return false;
}

AdminCaller CallerOf(const grpc::ServerContextBase& context) {
  AdminCaller caller;
  caller.peer = context.peer();
  caller.local = IsLocalPeer(caller.peer);
  caller.names = NamesOf(context);
  caller.token = TokenOf(context);
  return caller;
}

absl::StatusOr<std::string> Authorise(const AdminAuthoriser& authoriser,
                                      const AdminCaller& caller,
                                      AdminRight right) {
  try {
    absl::StatusOr<std::string> who = authoriser.Authorise(caller, right);
    if (who.ok() && who->empty()) {
      return absl::PermissionDeniedError("the authoriser names nobody");
    }
    if (who.ok()) return who;
    const absl::Status refusal = WithoutToken(who.status(), caller);
    if (absl::IsUnauthenticated(refusal) || absl::IsPermissionDenied(refusal)) {
      return refusal;
    }
    return absl::PermissionDeniedError(refusal.message());
  } catch (...) {
    return absl::PermissionDeniedError("the authoriser failed");
  }
}

}  // namespace grpc_resilience::internal

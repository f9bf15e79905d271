// Who may use the admin service, and for what: reading and changing are separate
// rights, and who may change may read.
//
//   AdminTokens tokens;
//   tokens.change = ReadSecret("/run/secrets/admin");
//   auto by_token = StaticTokenAuthoriser(std::move(tokens));     // StatusOr
//   auto authoriser = AnyAuthoriser({LocalReadOnlyAuthoriser(), *by_token});

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace grpc_resilience {

enum class AdminRight { kRead, kChange };

/// What is known of a caller. The view is valid during the call only.
struct AdminCaller {
  std::string peer;  ///< "ipv4:127.0.0.1:40312", "unix:"
  /// By Unix socket, loopback or in process. A proxy on this machine makes every
  /// caller look local.
  bool local = false;
  /// Of its certificate (subject alternative names, or the common name), when the
  /// transport has verified one.
  std::vector<std::string> names;
  /// Of "authorization: Bearer <token>"; unset when there isn't exactly one.
  std::optional<std::string_view> token;
};

/// This type is safe to use from several threads at once.
class AdminAuthoriser {
 public:
  virtual ~AdminAuthoriser() = default;

  /// Who the caller is, for the log: never its token. UNAUTHENTICATED: unknown;
  /// PERMISSION_DENIED: known, without the right; the log then has the name that
  /// goes with kRead. Any other error, an empty name and an exception count as
  /// PERMISSION_DENIED. Messages are logged and told to the caller. Called on a
  /// gRPC thread: must be quick and never block.
  virtual absl::StatusOr<std::string> Authorise(const AdminCaller& caller,
                                                AdminRight right) const = 0;
};

using AdminAuthoriserPtr = std::shared_ptr<const AdminAuthoriser>;

/// Local callers may read, nobody may change. Loopback means every user of the
/// machine; a Unix socket, who may open it.
AdminAuthoriserPtr LocalReadOnlyAuthoriser();

/// Unset: nobody has that right by a token.
struct AdminTokens {
  std::optional<std::string> read;
  std::optional<std::string> change;
};

/// Tokens are compared in constant time. INVALID_ARGUMENT when none is set, one is
/// empty or couldn't be sent in a header, or both are the same. A token goes over
/// the wire as it is: use TLS beyond the machine.
absl::StatusOr<AdminAuthoriserPtr> StaticTokenAuthoriser(AdminTokens tokens);

/// Whole names, compared byte by byte.
struct AdminPeerNames {
  std::vector<std::string> read;
  std::vector<std::string> change;
};

/// For servers that demand and verify client certificates. INVALID_ARGUMENT when
/// there is no name at all, or an empty one.
absl::StatusOr<AdminAuthoriserPtr> PeerNameAuthoriser(AdminPeerNames names);

using AdminFunction = std::function<absl::StatusOr<std::string>(
    const AdminCaller& caller, AdminRight right)>;

/// AdminAuthoriser::Authorise as a function. INVALID_ARGUMENT when it is empty.
absl::StatusOr<AdminAuthoriserPtr> FunctionAuthoriser(AdminFunction function);

/// The first that says yes. INVALID_ARGUMENT when there is none, or a null one.
absl::StatusOr<AdminAuthoriserPtr> AnyAuthoriser(
    std::vector<AdminAuthoriserPtr> authorisers);

}  // namespace grpc_resilience

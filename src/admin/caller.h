// Who calls, as far as the transport knows.

#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpc_resilience/admin_authoriser.h"

namespace grpc_resilience::internal {

/// Its view refers to `context`.
AdminCaller CallerOf(const grpc::ServerContextBase& context);

/// "ipv4:127.0.0.1:40312", "ipv6:%5B::1%5D:40312", "unix:", "inproc".
bool IsLocalPeer(std::string_view peer);

/// What `authoriser` says, with everything but the two refusals turned into one.
absl::StatusOr<std::string> Authorise(const AdminAuthoriser& authoriser,
                                      const AdminCaller& caller,
                                      AdminRight right);

}  // namespace grpc_resilience::internal

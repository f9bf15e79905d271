// Whose deadline it was.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "interceptor/context_access.h"

namespace grpc_resilience::internal {

/// The deadline of the inbound call that a call was made for can't be read, only
/// met: gRPC's core then ends the call with this text. A server may say the same;
/// with another text it is the server's own, and may be tried again.
inline bool MetParentsDeadline(const grpc::ClientContext& context,
                               const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
         status.error_message() == "Deadline Exceeded" &&
         ContextAccess::HasParentDeadline(context);
}

}  // namespace grpc_resilience::internal

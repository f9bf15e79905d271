// Translates the end of an attempt from gRPC's words into the core's.

#pragma once

#include <grpcpp/support/status.h>

#include "core/call_session.h"
#include "interceptor/attempt.h"

namespace grpc_resilience::internal {

/// `trailing` may be null. The result refers to `status`.
AttemptEnd MakeAttemptEnd(const grpc::Status& status,
                          const Attempt::Metadata* trailing);

}  // namespace grpc_resilience::internal

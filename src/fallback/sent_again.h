// Puts the request of a call that failed on another call's context.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "grpc_resilience/fallback.h"

namespace grpc_resilience::internal {

/// Metadata under `keys`, the idempotency key, and no fallbacks.
void CopyMetadata(const FailedCall& call, const std::vector<std::string>& keys,
                  grpc::ClientContext* context);

grpc::ByteBuffer BufferOf(const std::string& bytes);
std::string BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace grpc_resilience::internal

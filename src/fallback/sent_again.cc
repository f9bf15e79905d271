#include "fallback/sent_again.h"

#include <grpcpp/support/slice.h>

#include <algorithm>

namespace grpc_resilience::internal {

void CopyMetadata(const FailedCall& call, const std::vector<std::string>& keys,
                  grpc::ClientContext* context) {
  for (const auto& [key, value] : call.metadata) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      context->AddMetadata(key, value);
    }
  }
  if (!call.idempotency_key.empty()) {
    context->AddMetadata(call.idempotency_key_header, call.idempotency_key);
  }
  context->AddMetadata(kWithoutFallbacksKey, "1");
}

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace grpc_resilience::internal

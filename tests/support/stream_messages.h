// The messages of a stream, typed or (for generic stubs) as bytes.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "test_service.pb.h"

namespace grpc_resilience::test {

using Bytes = grpc::ByteBuffer;

template <typename Message>
Message To(const EchoRequest& request);
template <>
inline EchoRequest To<EchoRequest>(const EchoRequest& request) {
  return request;
}
template <>
inline Bytes To<Bytes>(const EchoRequest& request) {
  const std::string bytes = request.SerializeAsString();
  grpc::Slice slice(bytes);
  return Bytes(&slice, 1);
}
inline void From(EchoResponse* from, EchoResponse* to) { to->Swap(from); }
inline void From(Bytes* from, EchoResponse* to) {
  grpc::Slice slice;
  to->Clear();
  if (!from->DumpToSingleSlice(&slice).ok() ||
      !to->ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    to->add_items("(unreadable bytes)");
  }
}

}  // namespace grpc_resilience::test

// Messages as bytes and back, for those who keep them longer than a call.

#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "interceptor/message_type.h"

namespace grpc_resilience::internal {

/// Equal messages give equal bytes, whatever the order of their maps.
std::string ToBytes(const google::protobuf::MessageLite& message);

/// Empty when the buffer can't be read.
std::string ToBytes(const grpc::ByteBuffer& buffer);

grpc::ByteBuffer ToBuffer(const std::string& bytes);

/// Two serialisations of equal messages may differ: there is a map somewhere.
bool HasMaps(const google::protobuf::Descriptor& type);

/// As ToBytes of the message that `bytes` are a serialisation of; as they are when
/// they aren't one.
std::string InOneOrder(const google::protobuf::Message& prototype,
                       std::string bytes);

}  // namespace grpc_resilience::internal

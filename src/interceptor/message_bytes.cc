#include "interceptor/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace grpc_resilience::internal {
namespace {

using google::protobuf::Descriptor;

bool HasMapsBelow(const Descriptor& type, std::set<const Descriptor*>* seen) {
  if (!seen->insert(&type).second) return false;
  for (int i = 0; i < type.field_count(); ++i) {
    const auto* field = type.field(i);
    if (field->is_map()) return true;
    if (field->message_type() != nullptr &&
        HasMapsBelow(*field->message_type(), seen)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ToBytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&out);
  out.Trim();
  return bytes;
}

std::string ToBytes(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

bool HasMaps(const Descriptor& type) {
  std::set<const Descriptor*> seen;
  return HasMapsBelow(type, &seen);
}

std::string InOneOrder(const google::protobuf::Message& prototype,
                       std::string bytes) {
  const std::unique_ptr<google::protobuf::Message> message(prototype.New());
  if (!message->ParsePartialFromString(bytes)) return bytes;
  return ToBytes(*message);
}

}  // namespace grpc_resilience::internal

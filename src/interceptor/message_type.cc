#include "interceptor/message_type.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cstring>

namespace grpc_resilience::internal {

using google::protobuf::DescriptorPool;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;

MethodTypes LookUpMethod(const std::string& method) {
  if (method.empty() || method.front() != '/') return {};
  std::string name = method.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  const MethodDescriptor* descriptor =
      DescriptorPool::generated_pool()->FindMethodByName(name);
  if (descriptor == nullptr) return {};
  MessageFactory* factory = MessageFactory::generated_factory();
  MethodTypes types;
  types.request = factory->GetPrototype(descriptor->input_type());
  types.response = factory->GetPrototype(descriptor->output_type());
  const auto level = descriptor->options().idempotency_level();
  types.idempotent = level == MethodOptions::IDEMPOTENT ||
                     level == MethodOptions::NO_SIDE_EFFECTS;
  return types;
}

bool IsExactly(const google::protobuf::Message* prototype, const void* object) {
  return prototype != nullptr && object != nullptr &&
         std::memcmp(static_cast<const void*>(prototype), object,
                     sizeof(void*)) == 0;
}

}  // namespace grpc_resilience::internal

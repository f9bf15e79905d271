// Which C++ type the messages of a method have. Never guessed: a type is either
// proven or unknown.

#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace grpc_resilience::internal {

/// What the generated descriptor pool knows of a method. Null where it knows
/// nothing. The prototypes live as long as the process.
struct MethodTypes {
  const google::protobuf::Message* request = nullptr;
  const google::protobuf::Message* response = nullptr;
  /// `option idempotency_level` is IDEMPOTENT or NO_SIDE_EFFECTS.
  bool idempotent = false;
};

/// `method` is "/pkg.Service/Method". Slow the first time for a method.
MethodTypes LookUpMethod(const std::string& method);

/// True when `object` is of exactly the prototype's generated class: objects of
/// one class begin with the same vtable pointer. `object` may be anything that has
/// a first machine word.
bool IsExactly(const google::protobuf::Message* prototype, const void* object);

}  // namespace grpc_resilience::internal

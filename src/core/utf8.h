// Text of others in a protobuf string field, which must be UTF-8.

#pragma once

#include <string>
#include <string_view>

namespace grpc_resilience::internal {

/// With '?' for each byte that belongs to no valid character.
std::string ValidUtf8(std::string_view text);

}  // namespace grpc_resilience::internal

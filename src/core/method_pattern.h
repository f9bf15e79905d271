// What names a method, or all methods of a service, in a config.

#pragma once

#include "absl/strings/string_view.h"

namespace grpc_resilience::internal {

/// "/pkg.Service/Method" or "/pkg.Service/*".
bool IsMethodPattern(absl::string_view pattern);

/// Of a pattern: it ends with "/*".
bool IsWildcard(absl::string_view pattern);

}  // namespace grpc_resilience::internal

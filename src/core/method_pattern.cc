#include "core/method_pattern.h"

#include <cstddef>

#include "absl/strings/match.h"

namespace grpc_resilience::internal {
namespace {

bool HasOnlyVisible(absl::string_view text) {
  for (const unsigned char c : text) {
    if (c <= ' ' || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

bool IsWildcard(absl::string_view pattern) {
  return absl::EndsWith(pattern, "/*");
}

bool IsMethodPattern(absl::string_view pattern) {
  if (!HasOnlyVisible(pattern) || !absl::StartsWith(pattern, "/")) return false;
  const std::size_t slash = pattern.find('/', 1);
  if (slash == absl::string_view::npos || slash == 1) return false;
  const absl::string_view method = pattern.substr(slash + 1);
  if (method.empty() || absl::StrContains(method, "/")) return false;
  if (absl::StrContains(pattern.substr(0, slash), "*")) return false;
  return method == "*" || !absl::StrContains(method, "*");
}

}  // namespace grpc_resilience::internal

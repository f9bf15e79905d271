#include "interceptor/idempotency_key.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace grpc_resilience::internal {

std::string MakeIdempotencyKey(Random& random) {
  const std::uint64_t high = random.Bits();
  const std::uint64_t low = random.Bits();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32,
                         (high >> 16) & 0xffff, high & 0xfff,
                         0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffff);
}

}  // namespace grpc_resilience::internal

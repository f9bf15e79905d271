// Comparing secrets.

#pragma once

#include <cstddef>
#include <string_view>

namespace grpc_resilience::internal {

/// Takes a time that depends on the length of `given` alone. `secret` must not be
/// empty.
inline bool EqualInConstantTime(std::string_view secret,
                                std::string_view given) {
  // volatile: the loop must not be left early.
  volatile unsigned char different = secret.size() == given.size() ? 0 : 1;
  std::size_t at = 0;
  for (const char byte : given) {
    different = static_cast<unsigned char>(
        different | (static_cast<unsigned char>(byte) ^
                     static_cast<unsigned char>(secret[at])));
    at = at + 1 == secret.size() ? 0 : at + 1;
  }
  return different == 0;
}

}  // namespace grpc_resilience::internal

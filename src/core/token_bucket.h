// The arithmetic of gRFC A6 `retryThrottling`, in integer thousandths of a
// token.
//
//   TokenBucket bucket{16'000, 2'000};
//   std::uint32_t missing = 0;                 // full
//   missing = bucket.AfterFailure(missing);    // 15 tokens left
//   missing = bucket.AfterSuccess(missing);    // full again
//
// What is stored is the part that's missing: full is zero whatever the size, so
// the healthy path needs no settings to recognise it.

#pragma once

#include <cstdint>

namespace grpc_resilience::internal {

constexpr std::uint32_t kMilli = 1000;  ///< one token

/// A value type.
struct TokenBucket {
  std::uint32_t size = 16 * kMilli;  ///< range [1'000, 1'000'000]
  std::uint32_t per_success = 2 * kMilli;

  constexpr std::uint32_t AfterFailure(std::uint32_t missing) const {
    return missing + kMilli < size ? missing + kMilli : size;
  }
  constexpr std::uint32_t AfterSuccess(std::uint32_t missing) const {
    return missing > per_success ? missing - per_success : 0;
  }
  constexpr bool IsEmpty(std::uint32_t missing) const {
    return missing >= size;
  }
  constexpr bool MoreThanHalfFull(std::uint32_t missing) const {
    return 2 * missing < size;
  }
  constexpr std::uint32_t WholeTokens(std::uint32_t missing) const {
    return IsEmpty(missing) ? 0 : (size - missing) / kMilli;
  }
  constexpr double Tokens(std::uint32_t missing) const {
    return IsEmpty(missing) ? 0.0
                            : static_cast<double>(size - missing) / kMilli;
  }
  constexpr std::uint32_t MissingWithOneToken() const { return size - kMilli; }

  /// What is missing from a bucket of `size` that is as full, in proportion, as
  /// this one.
  constexpr std::uint32_t MissingAfterResize(std::uint32_t missing,
                                             std::uint32_t new_size) const {
    return IsEmpty(missing) ? new_size
                            : static_cast<std::uint32_t>(
                                  std::uint64_t{missing} * new_size / size);
  }
};

}  // namespace grpc_resilience::internal

// What admitting and recording read on a healthy breaker. Not for users of the
// library: it is public only so that the healthy path can be inlined.

#pragma once

#include <atomic>
#include <cstdint>

namespace grpc_resilience::internal {

/// Where the generation begins in the word.
inline constexpr int kBreakerGenerationShift = 24;
inline constexpr std::uint64_t kBreakerGeneration = ~std::uint64_t{0}
                                                    << kBreakerGenerationShift;
/// State and counting path: all zero when CLOSED, by the bucket, in AUTO.
inline constexpr std::uint64_t kBreakerNotPlain = 0xC0'0003;

/// Beside a number of the bucket, which has far fewer bits.
inline constexpr std::uint32_t kBreakerFlag = 0x8000'0000;

/// Small on purpose: a process may have a million breakers, most of them idle.
/// Written only while failures are counted and under the breaker's lock.
struct BreakerHotLine {
  std::atomic<std::uint64_t> word{0};  ///< core/breaker_word.h
  /// In thousandths of a token; kBreakerFlag: retries are limited by them.
  std::atomic<std::uint32_t> bucket_size{0};
  /// Likewise; kBreakerFlag: calls are timed.
  std::atomic<std::uint32_t> bucket_per_success{0};
  std::atomic<std::uint32_t> failures_since_full{0};
  /// Of BreakerRegistry, in seconds; here because there is room.
  std::atomic<std::uint32_t> last_asked_for{0};
};

}  // namespace grpc_resilience::internal

// What admitting and recording read on a healthy breaker. Not for users of the
// library: it is public only so that the healthy path can be inlined.

#pragma once

#include <atomic>
#include <cstdint>

namespace grpc_resilience::internal {

/// Where the generation begins in the word.
inline constexpr int kBreakerGenerationShift = 24;
/// State and counting path: all zero when CLOSED, by the bucket, in AUTO.
inline constexpr std::uint64_t kBreakerNotPlain = 0xC0'0003;

/// Small on purpose: a process may have a million breakers, most of them idle.
/// Written only while failures are counted and under the breaker's lock.
struct BreakerHotLine {
  std::atomic<std::uint64_t> word{0};         ///< core/breaker_word.h
  std::atomic<std::uint32_t> bucket_size{0};  ///< in thousandths of a token
  std::atomic<std::uint32_t> bucket_per_success{0};
  std::atomic<std::uint32_t> failures_since_full{0};
  std::atomic<bool> limits_retries{true};
  std::atomic<bool> times_calls{false};
};

}  // namespace grpc_resilience::internal

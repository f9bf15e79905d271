// What a breaker decides by, packed into the one word that admitting and
// recording read: state, way of counting, bucket and generation change together
// or not at all.
//
// | bits  | 63…24      | 23…22         | 21…2                 | 1…0   |
// |-------|------------|---------------|----------------------|-------|
// | field | generation | counting path | milli-tokens missing | state |
//
// A closed breaker with a full bucket is its generation and zeroes; the inline
// code of circuit_breaker.h relies on it.

#pragma once

#include <cstdint>

#include "grpc_resilience/breaker_hot_line.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

/// How admitting and recording go.
enum class CountingPath {
  kBucket = 0,    ///< the bucket alone decides: counted without the lock
  kLocked = 1,    ///< other rules decide: counted under the lock
  kDisabled = 2,  ///< BreakerMode::kDisabled: admits everything, counts nothing
  kForced = 3,    ///< an OperatorMode other than kAuto: the lock knows which
};

/// A value type.
class BreakerWord {
 public:
  constexpr explicit BreakerWord(std::uint64_t bits) : bits_(bits) {}
  constexpr BreakerWord(State state, CountingPath path, std::uint32_t missing,
                        std::uint64_t generation)
      : bits_(generation << kGenerationShift |
              static_cast<std::uint64_t>(path) << kPathShift |
              std::uint64_t{missing} << kMissingShift |
              static_cast<std::uint64_t>(state)) {}

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr State state() const { return static_cast<State>(bits_ & 3); }
  constexpr CountingPath path() const {
    return static_cast<CountingPath>(bits_ >> kPathShift & 3);
  }
  /// Missing from a full bucket, in thousandths of a token.
  constexpr std::uint32_t missing() const {
    return static_cast<std::uint32_t>(bits_ >> kMissingShift & kMissingMask);
  }
  constexpr std::uint64_t generation() const {
    return bits_ >> kGenerationShift;
  }

  constexpr BreakerWord WithMissing(std::uint32_t missing) const {
    return BreakerWord(state(), path(), missing, generation());
  }
  constexpr BreakerWord WithPath(CountingPath path) const {
    return BreakerWord(state(), path, missing(), generation());
  }

  /// Closed in that generation by the bucket rule, with nothing missing: a
  /// success changes nothing.
  constexpr bool IsHealthy(std::uint64_t generation) const {
    return bits_ == generation << kGenerationShift;
  }

 private:
  static constexpr int kMissingShift = 2;
  static constexpr int kPathShift = 22;
  static constexpr int kGenerationShift = kBreakerGenerationShift;
  static constexpr std::uint64_t kMissingMask = (1u << 20) - 1;

  std::uint64_t bits_;
};

}  // namespace grpc_resilience::internal

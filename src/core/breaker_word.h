// What a breaker decides by, packed into the one word that admitting and
// recording read: state, trip rule, bucket and generation change together or
// not at all.
//
// | bits  | 63…24      | 23…22     | 21…2                   | 1…0   |
// |-------|------------|-----------|------------------------|-------|
// | field | generation | trip rule | milli-tokens missing   | state |
//
// A closed breaker with a full bucket is its generation and zeroes.

#pragma once

#include <cstdint>

#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

enum class TripRule {
  kTokenBucket = 0,
  kCountWindow = 1,
  kNone = 2,  ///< BreakerMode::kDisabled: admits everything, counts nothing
};

/// A value type.
class BreakerWord {
 public:
  constexpr explicit BreakerWord(std::uint64_t bits) : bits_(bits) {}
  constexpr BreakerWord(State state, TripRule rule, std::uint32_t missing,
                        std::uint64_t generation)
      : bits_(generation << kGenerationShift |
              static_cast<std::uint64_t>(rule) << kRuleShift |
              std::uint64_t{missing} << kMissingShift |
              static_cast<std::uint64_t>(state)) {}

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr State state() const { return static_cast<State>(bits_ & 3); }
  constexpr TripRule rule() const {
    return static_cast<TripRule>(bits_ >> kRuleShift & 3);
  }
  constexpr bool enabled() const { return rule() != TripRule::kNone; }
  /// Missing from a full bucket, in thousandths of a token.
  constexpr std::uint32_t missing() const {
    return static_cast<std::uint32_t>(bits_ >> kMissingShift & kMissingMask);
  }
  constexpr std::uint64_t generation() const {
    return bits_ >> kGenerationShift;
  }

  constexpr BreakerWord WithMissing(std::uint32_t missing) const {
    return BreakerWord(state(), rule(), missing, generation());
  }
  constexpr BreakerWord WithRule(TripRule rule) const {
    return BreakerWord(state(), rule, missing(), generation());
  }

  /// Closed in that generation by the bucket rule, with nothing missing: a
  /// success changes nothing.
  constexpr bool IsHealthy(std::uint64_t generation) const {
    return bits_ == generation << kGenerationShift;
  }

 private:
  static constexpr int kMissingShift = 2;
  static constexpr int kRuleShift = 22;
  static constexpr int kGenerationShift = 24;
  static constexpr std::uint64_t kMissingMask = (1u << 20) - 1;

  std::uint64_t bits_;
};

}  // namespace grpc_resilience::internal

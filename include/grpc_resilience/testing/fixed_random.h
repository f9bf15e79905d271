// Chance under a test's control.
//
//   FixedRandom half(0.5);
//   Duration wait = backoff.Next(half);   // full jitter: half the delay

#pragma once

#include <cstdint>

#include "grpc_resilience/random.h"

namespace grpc_resilience {

/// Immutable, so safe to use from several threads at once.
class FixedRandom : public Random {
 public:
  /// Uniform() is always `uniform`. Range: [0, 1), kept to 53 binary places;
  /// what is outside counts as the nearer end.
  explicit FixedRandom(double uniform);

  std::uint64_t Bits() override { return bits_; }

 private:
  std::uint64_t bits_;
};

}  // namespace grpc_resilience

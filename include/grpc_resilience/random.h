// Chance as a port: jitter asks a Random it was given, so tests can fix it.

#pragma once

#include <cstdint>

namespace grpc_resilience {

/// This type is safe to use from several threads at once; implementations must
/// outlive everything they were given to.
class Random {
 public:
  virtual ~Random() = default;

  /// 64 uniformly random bits.
  virtual std::uint64_t Bits() = 0;

  /// Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }

  /// One generator per thread, seeded by the operating system: threads never
  /// share state and two processes never draw the same sequence. Not for
  /// secrets. Lives as long as the process.
  static Random& Real();
};

}  // namespace grpc_resilience

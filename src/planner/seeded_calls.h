// Calls that fail independently of each other, the same ones each time.

#pragma once

#include <cstdint>
#include <random>

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class SeededCalls {
 public:
  explicit SeededCalls(double failure_rate) : failure_rate_(failure_rate) {}

  bool NextFails() { return Uniform() < failure_rate_; }
  /// In [0, 1).
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1.0p-53; }

 private:
  const double failure_rate_;
  std::mt19937_64 bits_{20'170'401};
};

}  // namespace grpc_resilience::internal

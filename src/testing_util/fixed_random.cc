#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience {
namespace {

constexpr std::uint64_t kSteps = std::uint64_t{1} << 53;

// The inverse of Random::Uniform.
std::uint64_t BitsFor(double uniform) {
  if (!(uniform > 0)) return 0;
  if (uniform >= 1) return (kSteps - 1) << 11;
  return static_cast<std::uint64_t>(uniform * static_cast<double>(kSteps))
         << 11;
}

}  // namespace

FixedRandom::FixedRandom(double uniform) : bits_(BitsFor(uniform)) {}

}  // namespace grpc_resilience

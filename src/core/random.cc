#include "grpc_resilience/random.h"

#include <exception>
#include <random>

#include "absl/random/random.h"

namespace grpc_resilience {
namespace {

// Seeded from the operating system each time: Abseil's own pool of seeds is
// copied by fork, and sibling processes would then wait in step.
absl::InsecureBitGen MakeGenerator() {
  try {
    std::random_device system;
    std::seed_seq seed{system(), system(), system(), system(),
                       system(), system(), system(), system()};
    return absl::InsecureBitGen(seed);
  } catch (const std::exception&) {
    return absl::InsecureBitGen();  // no source of randomness but Abseil's
  }
}

class RealRandom : public Random {
 public:
  std::uint64_t Bits() override {
    thread_local absl::InsecureBitGen generator = MakeGenerator();
    return generator();
  }
};

}  // namespace

Random& Random::Real() {
  // Never destroyed: calls may still be in flight while the process ends.
  static Random* const random = new RealRandom;
  return *random;
}

}  // namespace grpc_resilience

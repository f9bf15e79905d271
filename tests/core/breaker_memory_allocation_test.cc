// What an idle breaker costs. Counts every byte that is asked for, so it is a
// program of its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "support/allocation/counting_allocator.h"

namespace grpc_resilience {
namespace {

constexpr int kTargets = 200'000;
constexpr int kStride = 73'939;  // a prime: keys come in no order

class BreakerMemoryTest : public ::testing::Test {
 protected:
  static BreakerRegistry::Settings Defaults(const BreakerKey&) { return {}; }

  /// Bytes per target of a registry of very many that were called once each.
  double BytesPerTarget(Outcome outcome) {
    const std::int64_t asked_before = test::BytesAskedFor();
    const std::int64_t chunks_before = test::BytesTaken();
    BreakerRegistry registry(Defaults, {2 * kTargets}, clock_, random_,
                             nullptr);
    for (int i = 0; i < kTargets; ++i) {
      // 18 characters, as "backend-123456:443".
      const std::string number =
          std::to_string(1'000'000 + 1LL * i * kStride % kTargets).substr(1);
      registry.GetOrCreate({"backend-" + number + ":443", ""})
          ->TryAcquire()
          ->Record(outcome);
    }
    const double asked =
        static_cast<double>(test::BytesAskedFor() - asked_before);
    const double chunks =
        static_cast<double>(test::BytesTaken() - chunks_before);
    std::cout << "bytes per target: " << asked / kTargets << " asked for, "
              << chunks / kTargets << " with what malloc adds\n";
    RecordProperty("bytes_per_target", std::to_string(asked / kTargets));
    return asked / kTargets;
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
};

TEST_F(BreakerMemoryTest, VeryManyHealthyTargetsTakeAtMost160BytesEach) {
  EXPECT_LE(BytesPerTarget(Outcome::kSuccess), 160.0);
}

// A failure that doesn't open is counted where the healthy state is.
TEST_F(BreakerMemoryTest, AFailureNowAndThenTakesNoMore) {
  EXPECT_LE(BytesPerTarget(Outcome::kFailure), 160.0);
}

}  // namespace
}  // namespace grpc_resilience

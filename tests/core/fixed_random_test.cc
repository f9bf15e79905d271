#include "grpc_resilience/testing/fixed_random.h"

#include <gtest/gtest.h>

#include <limits>

namespace grpc_resilience {
namespace {

TEST(FixedRandomTest, UniformIsAlwaysTheGivenValue) {
  for (const double value : {0.0, 0.25, 0.5, 0.75, 0x1.0p-53}) {
    FixedRandom random(value);
    EXPECT_EQ(random.Uniform(), value);
    EXPECT_EQ(random.Uniform(), value);
  }
  EXPECT_NEAR(FixedRandom(0.1).Uniform(), 0.1, 0x1.0p-53);
}

TEST(FixedRandomTest, ValuesOutsideCountAsTheNearerEnd) {
  EXPECT_EQ(FixedRandom(-1).Uniform(), 0.0);
  EXPECT_EQ(FixedRandom(1).Uniform(), 1.0 - 0x1.0p-53);
  EXPECT_EQ(FixedRandom(7).Uniform(), 1.0 - 0x1.0p-53);
  EXPECT_EQ(FixedRandom(std::numeric_limits<double>::quiet_NaN()).Uniform(),
            0.0);
}

}  // namespace
}  // namespace grpc_resilience

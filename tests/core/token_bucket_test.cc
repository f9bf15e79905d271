#include "core/token_bucket.h"

#include <gtest/gtest.h>

#include "core/breaker_rules.h"

namespace grpc_resilience::internal {
namespace {

constexpr TokenBucket kBucket{16 * kMilli, 2 * kMilli};

TEST(TokenBucketTest, TakesOneAndGivesTwoWithinItsBounds) {
  std::uint32_t missing = 0;
  missing = kBucket.AfterSuccess(missing);
  EXPECT_EQ(kBucket.Tokens(missing), 16);
  missing = kBucket.AfterFailure(missing);
  EXPECT_EQ(kBucket.Tokens(missing), 15);
  missing = kBucket.AfterSuccess(missing);
  EXPECT_EQ(kBucket.Tokens(missing), 16);
  for (int i = 0; i < 20; ++i) missing = kBucket.AfterFailure(missing);
  EXPECT_EQ(kBucket.Tokens(missing), 0);
  EXPECT_TRUE(kBucket.IsEmpty(missing));
}

TEST(TokenBucketTest, HalfFullIsNotMoreThanHalf) {
  EXPECT_FALSE(kBucket.MoreThanHalfFull(8'000));
  EXPECT_TRUE(kBucket.MoreThanHalfFull(7'999));
}

TEST(TokenBucketTest, WholeTokensIgnoreTheFraction) {
  EXPECT_EQ(kBucket.WholeTokens(kBucket.MissingWithOneToken()), 1u);
  EXPECT_EQ(kBucket.WholeTokens(kBucket.MissingWithOneToken() + 1), 0u);
  EXPECT_EQ(kBucket.WholeTokens(0), 16u);
  EXPECT_EQ(kBucket.WholeTokens(99'000), 0u);
}

TEST(TokenBucketTest, ResizeKeepsTheProportionAndTheEnds) {
  EXPECT_EQ(kBucket.MissingAfterResize(0, 1'000'000), 0u);
  EXPECT_EQ(kBucket.MissingAfterResize(4'000, 1'000'000), 250'000u);
  EXPECT_EQ(kBucket.MissingAfterResize(16'000, 1'000'000), 1'000'000u);
  EXPECT_EQ(kBucket.MissingAfterResize(16'000, 1'000), 1'000u);
}

TEST(TokenBucketTest, RatioKeepsThreeDecimals) {
  const auto per_success = [](double ratio) {
    return BreakerRules({}, {true, 10, ratio}).bucket.per_success;
  };
  EXPECT_EQ(per_success(0.57), 570u);  // 0.57 * 1000 is 569.99…
  EXPECT_EQ(per_success(0.1), 100u);
  EXPECT_EQ(per_success(0.5466), 546u);
  EXPECT_EQ(per_success(1000.0), 1'000'000u);
  EXPECT_EQ(per_success(0.0001), 1u);
}

}  // namespace
}  // namespace grpc_resilience::internal

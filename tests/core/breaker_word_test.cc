#include "core/breaker_word.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace grpc_resilience::internal {
namespace {

TEST(BreakerWordTest, FieldsDoNotTouchEachOther) {
  const std::uint64_t generations[] = {0, 1, (std::uint64_t{1} << 40) - 1};
  for (State state : {State::kClosed, State::kOpen, State::kHalfOpen}) {
    for (CountingPath path : {CountingPath::kBucket, CountingPath::kLocked,
                              CountingPath::kDisabled, CountingPath::kForced}) {
      for (std::uint32_t missing : {0u, 1u, 1'000'000u}) {
        for (std::uint64_t generation : generations) {
          const BreakerWord word(state, path, missing, generation);
          EXPECT_EQ(word.state(), state);
          EXPECT_EQ(word.path(), path);
          EXPECT_EQ(word.missing(), missing);
          EXPECT_EQ(word.generation(), generation);
          EXPECT_EQ(word.WithMissing(7).WithMissing(missing).bits(),
                    word.bits());
          EXPECT_EQ(
              word.WithPath(CountingPath::kDisabled).WithPath(path).bits(),
              word.bits());
        }
      }
    }
  }
}

// D30
TEST(BreakerWordTest, GenerationPasses32BitsWithoutWrapping) {
  const std::uint64_t begin = (std::uint64_t{1} << 32) - 2;
  for (std::uint64_t g = begin; g < begin + 10; ++g) {
    const BreakerWord word(State::kClosed, CountingPath::kBucket, 0, g);
    EXPECT_EQ(word.generation(), g);
    EXPECT_EQ(word.state(), State::kClosed);
    EXPECT_TRUE(word.IsHealthy(g));
  }
}

TEST(BreakerWordTest, OnlyClosedFullBucketOfThatGenerationIsHealthy) {
  const auto healthy = [](State state, CountingPath path,
                          std::uint32_t missing) {
    return BreakerWord(state, path, missing, 5).IsHealthy(5);
  };
  EXPECT_TRUE(healthy(State::kClosed, CountingPath::kBucket, 0));
  EXPECT_FALSE(healthy(State::kOpen, CountingPath::kBucket, 0));
  EXPECT_FALSE(healthy(State::kClosed, CountingPath::kLocked, 0));
  EXPECT_FALSE(healthy(State::kClosed, CountingPath::kDisabled, 0));
  EXPECT_FALSE(healthy(State::kClosed, CountingPath::kBucket, 1));
  EXPECT_FALSE(
      BreakerWord(State::kClosed, CountingPath::kBucket, 0, 5).IsHealthy(4));
}

}  // namespace
}  // namespace grpc_resilience::internal

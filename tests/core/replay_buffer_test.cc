#include "core/replay_buffer.h"

#include <gtest/gtest.h>

#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {
namespace {

using Overflow = ReplayBuffer::Overflow;

constexpr std::int64_t kEach = kReplayBytesPerMessage;

TEST(ReplayBufferTest, CountsMessagesUntilTheLimit) {
  ReplayBudget budget;
  ReplayBuffer buffer({3 * kEach + 100, 1 << 20}, &budget);
  buffer.Add(60);
  buffer.Add(40);
  EXPECT_EQ(buffer.kept(), 2 * kEach + 100);
  EXPECT_EQ(budget.used(), 2 * kEach + 100);
  buffer.Add(0);  // exactly full
  EXPECT_EQ(buffer.overflow(), Overflow::kNone);
  EXPECT_TRUE(buffer.keeping());
  buffer.Add(0);
  EXPECT_EQ(buffer.overflow(), Overflow::kStream);
  EXPECT_FALSE(buffer.keeping());
  // The message is there, to be sent once.
  EXPECT_EQ(buffer.end(), 4u);
  EXPECT_EQ(buffer.peak(), 3 * kEach + 100);
  EXPECT_EQ(budget.used(), 3 * kEach + 100);
  buffer.DropBelow(2);
  EXPECT_EQ(budget.used(), kEach);
  buffer.DropBelow(4);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(buffer.total_bytes(), 100);
  EXPECT_EQ(buffer.begin(), 4u);
}

TEST(ReplayBufferTest, TheProcessHasALimitOfItsOwn) {
  ReplayBudget budget;
  const ReplayBuffer::Limits limits{1 << 20, 2 * kEach + 10};
  ReplayBuffer first(limits, &budget);
  ReplayBuffer second(limits, &budget);
  first.Add(5);
  second.Add(5);  // exactly full
  EXPECT_EQ(second.overflow(), Overflow::kNone);
  first.Add(0);
  EXPECT_EQ(first.overflow(), Overflow::kProcess);
  EXPECT_EQ(budget.used(), 2 * kEach + 10);
}

TEST(ReplayBufferTest, GivesBackWhatItTook) {
  ReplayBudget budget;
  {
    ReplayBuffer buffer({1 << 20, 1 << 20}, &budget);
    buffer.Add(1000);
    EXPECT_EQ(budget.used(), 1000 + kEach);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(ReplayBufferTest, NothingIsCountedOnceNothingIsKept) {
  ReplayBudget budget;
  ReplayBuffer buffer({1 << 20, 1 << 20}, &budget);
  buffer.Add(1);
  buffer.StopKeeping();
  buffer.Add(1000);
  EXPECT_EQ(budget.used(), 1 + kEach);
  EXPECT_EQ(buffer.BytesOf(1), 1000);
  EXPECT_EQ(buffer.overflow(), Overflow::kNone);
}

TEST(ReplayBufferTest, ALargerLimitThanTheNumbersHoldIsNoTrap) {
  ReplayBudget budget;
  EXPECT_TRUE(budget.TryTake(10, INT64_MAX));
  EXPECT_FALSE(budget.TryTake(INT64_MAX, INT64_MAX));
  EXPECT_FALSE(budget.TryTake(1, 0));
  EXPECT_EQ(budget.used(), 10);
}

TEST(StreamPolicyTest, EveryFaultIsNamed) {
  Config config;
  StreamPolicy& stream = config.DefaultMethod().stream;
  stream.replay_bytes = -1;
  stream.initial_metadata_grace = std::chrono::milliseconds(-1);
  stream.write_behind_bytes = -5;
  stream.read_ahead_messages = 0;
  config.max_replay_bytes = -7;
  EXPECT_EQ(
      config.Validate().message(),
      "config: max_replay_bytes = -7: must be >= 0\n"
      "default method: stream.replay_bytes = -1: must be in [0, 1073741824]\n"
      "default method: stream.initial_metadata_grace = -1 ms: must be >= 0\n"
      "default method: stream.write_behind_bytes = -5: must be in [0, "
      "1073741824]\n"
      "default method: stream.read_ahead_messages = 0: must be in [1, 10000]");
}

}  // namespace
}  // namespace grpc_resilience::internal

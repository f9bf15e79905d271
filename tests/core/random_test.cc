#include "grpc_resilience/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace grpc_resilience {
namespace {

TEST(RandomTest, UniformCoversTheUnitIntervalEvenly) {
  constexpr int kSamples = 100000;
  int buckets[10] = {};
  for (int i = 0; i < kSamples; ++i) {
    const double value = Random::Real().Uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++buckets[static_cast<int>(value * 10)];
  }
  for (const int count : buckets) EXPECT_NEAR(count, kSamples / 10, 600);
}

// B12
TEST(RandomTest, ThreadsDrawDifferentSequences) {
  absl::Mutex mu;
  std::set<std::uint64_t> drawn;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        const std::uint64_t bits = Random::Real().Bits();
        absl::MutexLock lock(&mu);
        drawn.insert(bits);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(drawn.size(), 16000u);
}

// What a child process draws first, on a thread that hasn't drawn before.
std::uint64_t FirstDrawOfChild() {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t bits = 0;
    std::thread([&] { bits = Random::Real().Bits(); }).join();
    const bool written = write(ends[1], &bits, sizeof(bits)) == sizeof(bits);
    _exit(written ? 0 : 1);
  }
  std::uint64_t bits = 0;
  EXPECT_EQ(read(ends[0], &bits, sizeof(bits)), ssize_t{sizeof(bits)});
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return bits;
}

// B12
TEST(RandomTest, ProcessesStartedTogetherDrawDifferentSequences) {
  const std::uint64_t first = FirstDrawOfChild();
  const std::uint64_t second = FirstDrawOfChild();
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace grpc_resilience

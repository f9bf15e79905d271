// The memory that a full cache really takes, counted where it is allocated.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "fallback/asked.h"
#include "grpc_resilience/stale_cache.h"
#include "support/allocation/counting_allocator.h"

namespace grpc_resilience::test {
namespace {

// GRPC_RESILIENCE_CACHED_VALUES=1000000 for the large form.
int Values() {
  const char* const text = std::getenv("GRPC_RESILIENCE_CACHED_VALUES");
  return text != nullptr ? std::atoi(text) : 100000;
}

TEST(StaleCacheMemoryTest, StaysUnderItsCap) {
  const int values = Values();
  for (const int response_size : {20, 200, 5000}) {
    StaleCacheOptions options;
    options.max_bytes = static_cast<std::size_t>(values) * 200;
    const std::int64_t before = BytesTaken();
    ResetMostBytesTaken();
    StaleCache cache(options);
    for (int i = 0; i < values; ++i) {
      const auto call = MakeCall("request number " + std::to_string(i));
      cache.OnResponse(*call, std::string(response_size, 'x'), kStart);
    }
    const auto most = static_cast<double>(MostBytesTaken() - before);
    const auto cap = static_cast<double>(options.max_bytes);
    const StaleCache::Stats stats = cache.stats();
    std::printf(
        "%d values of %d bytes: cap %.1f MB, most in use %.1f MB, "
        "counted %.1f MB, %zu kept\n",
        values, response_size, cap / 1e6, most / 1e6,
        static_cast<double>(stats.bytes) / 1e6, stats.values);
    EXPECT_LE(most, cap);
    EXPECT_GT(stats.evictions, 0u);
    // Nor does it waste what it may use.
    EXPECT_GE(most, 0.7 * cap);
  }
}

// With a cap that has room for all of them.
TEST(StaleCacheMemoryTest, KeepsAllThatFit) {
  const int values = Values();
  StaleCacheOptions options;
  options.max_bytes = static_cast<std::size_t>(values) * 320;
  const std::int64_t before = BytesTaken();
  ResetMostBytesTaken();
  StaleCache cache(options);
  for (int i = 0; i < values; ++i) {
    const auto call = MakeCall("request number " + std::to_string(i));
    cache.OnResponse(*call, std::string(20, 'x'), kStart);
  }
  const auto most = static_cast<double>(MostBytesTaken() - before);
  const auto cap = static_cast<double>(options.max_bytes);
  std::printf("%d values kept: cap %.1f MB, most in use %.1f MB\n", values,
              cap / 1e6, most / 1e6);
  EXPECT_EQ(cache.stats().values, static_cast<std::size_t>(values));
  EXPECT_EQ(cache.stats().evictions, 0u);
  EXPECT_LE(most, cap);
}

}  // namespace
}  // namespace grpc_resilience::test

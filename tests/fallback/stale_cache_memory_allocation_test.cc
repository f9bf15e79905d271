// The memory that a full cache really takes, counted where it is allocated.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "fallback/asked.h"
#include "grpc_resilience/stale_cache.h"

namespace {

std::atomic<std::int64_t> bytes_in_use{0};
std::atomic<std::int64_t> most_in_use{0};

void* Allocate(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  const auto used =
      static_cast<std::int64_t>(malloc_usable_size(block)) + 8;  // its header
  const std::int64_t now = bytes_in_use.fetch_add(used) + used;
  if (now > most_in_use.load()) most_in_use.store(now);
  return block;
}

void Free(void* block) noexcept {
  if (block == nullptr) return;
  bytes_in_use.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)) +
                         8);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* block) noexcept { Free(block); }
void operator delete[](void* block) noexcept { Free(block); }
void operator delete(void* block, std::size_t) noexcept { Free(block); }
void operator delete[](void* block, std::size_t) noexcept { Free(block); }

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
    const std::int64_t before = bytes_in_use.load();
    most_in_use.store(before);
    StaleCache cache(options);
    for (int i = 0; i < values; ++i) {
      const auto call = MakeCall("request number " + std::to_string(i));
      cache.OnResponse(*call, std::string(response_size, 'x'), kStart);
    }
    const auto most = static_cast<double>(most_in_use.load() - before);
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

}  // namespace
}  // namespace grpc_resilience::test

// What an idle breaker costs. Counts every byte that is asked for, so it is a
// program of its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>

#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"

namespace {

std::int64_t asked_for = 0;  // in bytes, less what was given back
std::int64_t in_chunks = 0;  // the same with what malloc adds

constexpr std::size_t kHeader = 16;  // before each block: its size
constexpr std::int64_t kChunkHeader = 8;

void* Allocate(std::size_t size) {
  void* const memory = std::malloc(size + kHeader);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = size;
  asked_for += static_cast<std::int64_t>(size);
  // glibc: whole multiples of 16, 8 of them its own, 32 at least.
  in_chunks += std::max<std::int64_t>(
      32, (static_cast<std::int64_t>(size) + kChunkHeader + 15) / 16 * 16);
  return static_cast<char*>(memory) + kHeader;
}

void Free(void* p) {
  if (p == nullptr) return;
  void* const memory = static_cast<char*>(p) - kHeader;
  const auto size =
      static_cast<std::int64_t>(*static_cast<std::size_t*>(memory));
  asked_for -= size;
  in_chunks -= std::max<std::int64_t>(32, (size + kChunkHeader + 15) / 16 * 16);
  std::free(memory);
}

}  // namespace

// Never inlined: GCC takes an inlined half of such a pair for a mismatch.
#define NEVER_INLINED __attribute__((noinline))

NEVER_INLINED void* operator new(std::size_t size) { return Allocate(size); }
NEVER_INLINED void* operator new[](std::size_t size) { return Allocate(size); }
NEVER_INLINED void operator delete(void* p) noexcept { Free(p); }
NEVER_INLINED void operator delete[](void* p) noexcept { Free(p); }
NEVER_INLINED void operator delete(void* p, std::size_t) noexcept { Free(p); }
NEVER_INLINED void operator delete[](void* p, std::size_t) noexcept { Free(p); }

namespace grpc_resilience {
namespace {

constexpr int kTargets = 200'000;
constexpr int kStride = 73'939;  // a prime: keys come in no order

class BreakerMemoryTest : public ::testing::Test {
 protected:
  static BreakerRegistry::Settings Defaults(const BreakerKey&) { return {}; }

  /// Bytes per target of a registry of very many that were called once each.
  double BytesPerTarget(Outcome outcome) {
    const std::int64_t asked_before = asked_for;
    const std::int64_t chunks_before = in_chunks;
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
    const double asked = static_cast<double>(asked_for - asked_before);
    const double chunks = static_cast<double>(in_chunks - chunks_before);
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

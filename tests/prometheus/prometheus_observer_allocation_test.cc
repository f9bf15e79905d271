// Counts every allocation of its program, so it is a program of its own.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "prometheus/observer_test.h"

namespace {

thread_local int allocations = 0;

void* Allocate(std::size_t size, std::size_t alignment = 16) {
  ++allocations;
  const std::size_t rounded = (size / alignment + 1) * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Never inlined: GCC takes an inlined half of such a pair for a mismatch.
#define NEVER_INLINED __attribute__((noinline))

NEVER_INLINED void* operator new(std::size_t size) { return Allocate(size); }
NEVER_INLINED void* operator new[](std::size_t size) { return Allocate(size); }
NEVER_INLINED void* operator new(std::size_t size, std::align_val_t align) {
  return Allocate(size, static_cast<std::size_t>(align));
}
NEVER_INLINED void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
NEVER_INLINED void operator delete(void* p, std::size_t,
                                   std::align_val_t) noexcept {
  std::free(p);
}
NEVER_INLINED void operator delete(void* p) noexcept { std::free(p); }
NEVER_INLINED void operator delete[](void* p) noexcept { std::free(p); }
NEVER_INLINED void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
NEVER_INLINED void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

namespace grpc_resilience::test {
namespace {

class PrometheusObserverAllocationTest : public ObserverTest {};

TEST_F(PrometheusObserverAllocationTest, CountingAllocatesNothing) {
  Config config;
  config.Method("/shop.Inventory/Get");
  config.Target("a:1");
  const auto resilience = NewResilience(config);
  PrometheusOptions options;
  options.max_targets = 2;
  options.max_pairs = 2;
  const Observer observer = NewObserver(resilience, options);
  const auto count = [&observer](std::string_view target,
                                 std::string_view method) {
    AttemptEvent attempt = Attempt(method);
    attempt.target = target;
    CallEvent call = Call(method);
    call.target = target;
    observer->OnAttemptEnd(attempt);
    observer->OnCallEnd(call);
  };
  const auto count_all = [&count] {
    count("a:1", "/shop.Inventory/Get");
    count("a:1", "/some.Method/ThatNobodyNamed");
    count("a target that is one too many:1", "/shop.Inventory/Get");
  };
  count_all();  // may make series
  count("another target that is one too many:1", "/x/y");
  const int before = allocations;
  count_all();
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace grpc_resilience::test

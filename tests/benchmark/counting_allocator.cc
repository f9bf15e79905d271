#include "benchmark/counting_allocator.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<std::uint64_t> allocations{0};
void CountOne() { allocations.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

namespace grpc_resilience::bench {
std::uint64_t AllocationsSoFar() {
  return allocations.load(std::memory_order_relaxed);
}
}  // namespace grpc_resilience::bench

// The C library's own functions under the names by which it lets them be
// replaced; operator new, gRPC and everything else end up here.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  CountOne();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  CountOne();
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  CountOne();
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  CountOne();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  CountOne();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** into, std::size_t alignment, std::size_t size) {
  CountOne();
  void* const memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *into = memory;
  return 0;
}

}  // extern "C"

#include "support/allocation/counting_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t allocations = 0;
std::atomic<std::int64_t> asked_for{0};
std::atomic<std::int64_t> taken{0};
std::atomic<std::int64_t> most_taken{0};

// Before each block: its size.
constexpr std::size_t kHeader = alignof(std::max_align_t);
static_assert(kHeader >= sizeof(std::size_t));

// glibc: a word of its own, whole multiples of 16, 32 at least; large blocks have
// pages to themselves.
std::int64_t ChunkOf(std::size_t size) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kLarge = 128 * 1024;
  if (size >= kLarge) {
    return static_cast<std::int64_t>((size + 16 + kPage - 1) / kPage * kPage);
  }
  return static_cast<std::int64_t>(
      std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16));
}

void* Allocate(std::size_t size, std::size_t alignment = kHeader) {
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const base = std::aligned_alloc(alignment, alignment + whole);
  if (base == nullptr) throw std::bad_alloc();
  char* const block = static_cast<char*>(base) + alignment;
  *reinterpret_cast<std::size_t*>(block - kHeader) = size;
  ++allocations;
  asked_for += static_cast<std::int64_t>(size);
  const std::int64_t now = taken += ChunkOf(size);
  std::int64_t most = most_taken.load();
  while (now > most && !most_taken.compare_exchange_weak(most, now)) {
  }
  return block;
}

void Free(void* block, std::size_t alignment = kHeader) noexcept {
  if (block == nullptr) return;
  char* const end_of_header = static_cast<char*>(block);
  const auto size = *reinterpret_cast<std::size_t*>(end_of_header - kHeader);
  asked_for -= static_cast<std::int64_t>(size);
  taken -= ChunkOf(size);
  std::free(end_of_header - alignment);
}

std::size_t AtLeastHeader(std::align_val_t alignment) {
  return std::max(kHeader, static_cast<std::size_t>(alignment));
}

}  // namespace

// In a file of their own, so never inlined: GCC takes an inlined half of such a pair
// for a mismatch. The standard library's other forms call these.
void* operator new(std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, AtLeastHeader(alignment));
}
void operator delete(void* block) noexcept { Free(block); }
void operator delete(void* block, std::size_t) noexcept { Free(block); }
void operator delete(void* block, std::align_val_t alignment) noexcept {
  Free(block, AtLeastHeader(alignment));
}
void operator delete(void* block, std::size_t,
                     std::align_val_t alignment) noexcept {
  Free(block, AtLeastHeader(alignment));
}

namespace grpc_resilience::test {

std::int64_t AllocationsOfThisThread() { return allocations; }
std::int64_t BytesAskedFor() { return asked_for; }
std::int64_t BytesTaken() { return taken; }
std::int64_t MostBytesTaken() { return most_taken; }
void ResetMostBytesTaken() { most_taken = taken.load(); }

}  // namespace grpc_resilience::test

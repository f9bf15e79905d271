// Counts what the process allocates, C code's share too; the tests' own
// (tests/support/allocation) counts operator new by thread and by bytes. Linked into
// bench_allocations and bench_breaker only.

#pragma once

#include <cstdint>

namespace grpc_resilience::bench {

/// Allocations of all threads so far, whichever of malloc, calloc, realloc,
/// aligned_alloc, posix_memalign and operator new made them.
std::uint64_t AllocationsSoFar();

}  // namespace grpc_resilience::bench

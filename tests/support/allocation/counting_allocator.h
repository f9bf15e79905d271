// Counts what a test program allocates: linked into the programs of
// *_allocation_test.cc, where it takes the place of operator new and delete. What C
// code takes from malloc isn't counted.

#pragma once

#include <cstdint>

namespace grpc_resilience::test {

/// Allocations of the calling thread so far.
std::int64_t AllocationsOfThisThread();

// Of all threads, less what was given back.

/// Bytes as they were asked for.
std::int64_t BytesAskedFor();
/// Bytes with what glibc's malloc adds to each block.
std::int64_t BytesTaken();
/// The most that BytesTaken() was since the last ResetMostBytesTaken().
std::int64_t MostBytesTaken();
void ResetMostBytesTaken();

}  // namespace grpc_resilience::test

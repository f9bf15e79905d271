// The first caller's deadline inside a request, so that the last server of a chain
// can tell whether anyone still waits for its answer. One machine, one wall clock.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "benchmark/bench.pb.h"

namespace grpc_resilience::bench {

/// An attempt started just before the deadline arrives just after it.
constexpr std::chrono::nanoseconds kLateAllowance =
    std::chrono::milliseconds(5);

inline std::int64_t WallNanoseconds(
    std::chrono::system_clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

inline Payload RequestWithDeadline(
    std::chrono::system_clock::time_point deadline) {
  Payload request;
  request.set_data(std::to_string(WallNanoseconds(deadline)));
  return request;
}

/// How long the deadline of `request` has been over; ≤ 0: it isn't, or there is
/// none.
inline std::int64_t NanosecondsLate(const Payload& request) {
  const std::string& data = request.data();
  if (data.empty() || data[0] < '0' || data[0] > '9') return 0;
  return WallNanoseconds(std::chrono::system_clock::now()) - std::stoll(data);
}

}  // namespace grpc_resilience::bench

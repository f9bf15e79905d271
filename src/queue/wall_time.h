// Times of the queue, which outlive the process.

#pragma once

#include <chrono>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/queue_store.h"

namespace grpc_resilience::internal {

inline WallTime WallNow() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
}

inline std::chrono::milliseconds ToMs(Duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

}  // namespace grpc_resilience::internal

#include "interceptor/grpc_timeout.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace grpc_resilience::internal {
namespace {

constexpr std::int64_t kMost = 99'999'999;

}  // namespace

std::string GrpcTimeoutText(Duration timeout) {
  using std::chrono::ceil;
  const auto micros = std::max<std::int64_t>(
      1, ceil<std::chrono::microseconds>(timeout).count());
  if (micros <= kMost) return std::to_string(micros) + 'u';
  const auto millis = ceil<std::chrono::milliseconds>(timeout).count();
  if (millis <= kMost) return std::to_string(millis) + 'm';
  const auto seconds = ceil<std::chrono::seconds>(timeout).count();
  return std::to_string(std::min<std::int64_t>(seconds, kMost)) + 'S';
}

}  // namespace grpc_resilience::internal

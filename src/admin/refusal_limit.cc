#include "admin/refusal_limit.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience::internal {

std::optional<std::uint64_t> RefusalLimit::Admit(TimePoint now) {
  absl::MutexLock lock(&mu_);
  const TimePoint full = now - kAtOnce * kEvery;
  const TimePoint next = std::max(used_up_to_.value_or(full), full) + kEvery;
  if (next > now) {
    ++held_back_;
    return std::nullopt;
  }
  used_up_to_ = next;
  return std::exchange(held_back_, 0);
}

}  // namespace grpc_resilience::internal

#include "core/replay_budget.h"

#include "grpc_resilience/stream_policy.h"

namespace grpc_resilience {
namespace internal {

ReplayBudget& ReplayBudget::OfProcess() {
  static ReplayBudget budget;
  return budget;
}

}  // namespace internal

std::int64_t ReplayBytesInUse() {
  return internal::ReplayBudget::OfProcess().used();
}

}  // namespace grpc_resilience

#include "interceptor/recovery_worker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "interceptor/channel_recovery.h"
#include "interceptor/recovery_thread.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPeriod(125);
constexpr std::chrono::seconds kPeriodOfLongOutage(1);
constexpr std::chrono::minutes kLongOutage(10);
// 1,000 connects a second cost about 15 % of a core.
constexpr std::int64_t kConnectsPerSecond = 1000;
constexpr std::size_t kChannelsPerThread = 500;

}  // namespace

Duration ReconnectPeriod(Duration outage, std::size_t channels) {
  const Duration period =
      outage > kLongOutage ? Duration(kPeriodOfLongOutage) : Duration(kPeriod);
  const Duration in_budget =
      Duration(std::chrono::seconds(channels)) / kConnectsPerSecond;
  return std::max(period, in_budget);
}

RecoveryWorker& RecoveryWorker::OfProcess() {
  static auto& worker = *new RecoveryWorker;
  return worker;
}

bool RecoveryWorker::Add(std::shared_ptr<ChannelRecovery> recovery) {
  absl::MutexLock lock(&mu_);
  for (const auto& thread : threads_) {
    if (thread->channels() < kChannelsPerThread) {
      return thread->Add(std::move(recovery));
    }
  }
  threads_.push_back(std::make_unique<RecoveryThread>(&channels_));
  return threads_.back()->Add(std::move(recovery));
}

}  // namespace grpc_resilience::internal

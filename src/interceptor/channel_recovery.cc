#include "interceptor/channel_recovery.h"

#include <algorithm>
#include <utility>

#include "interceptor/recovery_worker.h"

namespace grpc_resilience::internal {
namespace {

// A generic stub can be asked for any method, each with a breaker of its own.
constexpr std::size_t kMostKnown = 1000;

}  // namespace

void ChannelRecovery::SetChannel(grpc::ChannelInterface* channel) {
  channel_ = dynamic_cast<grpc::Channel*>(channel);
  if (channel_ != nullptr) weak_channel_ = channel_->weak_from_this();
  if (weak_channel_.expired()) {
    kind_.store(Kind::kUnwatched, std::memory_order_release);
  }
}

std::shared_ptr<WatchedBreaker> ChannelRecovery::For(
    std::shared_ptr<CircuitBreaker> breaker, const BreakerPolicy& policy,
    std::uint64_t policy_version) {
  if (!policy.recovery.watch_channel) return nullptr;
  absl::MutexLock lock(&mu_);
  // A breaker may have several after that, which is only a bit more work.
  if (version_ != policy_version || known_.size() >= kMostKnown) {
    known_.clear();
    version_ = policy_version;
  }
  std::shared_ptr<WatchedBreaker>& watch = known_[breaker];
  if (watch == nullptr) {
    // Who sets an open time of their own gets exactly that.
    watch = std::make_shared<WatchedBreaker>(std::move(breaker),
                                             !policy.open_duration.has_value(),
                                             policy.recovery.background_probe);
  }
  return watch;
}

bool ChannelRecovery::CanWatch() {
  Kind kind = kind_.load(std::memory_order_acquire);
  if (kind == Kind::kUnknown) {
    // An in-process channel says SHUTDOWN, and ends the process when it is watched.
    kind = channel_->GetState(false) == GRPC_CHANNEL_SHUTDOWN ? Kind::kUnwatched
                                                              : Kind::kWatched;
    kind_.store(kind, std::memory_order_release);
  }
  return kind == Kind::kWatched;
}

bool ChannelRecovery::MayProbe(const std::shared_ptr<WatchedBreaker>& watch) {
  if (!CanWatch()) return true;
  if (!watch->background_probe &&
      channel_->GetState(false) == GRPC_CHANNEL_READY) {
    return true;
  }
  OnRejected(watch);
  return false;
}

void ChannelRecovery::OnRejected(const std::shared_ptr<WatchedBreaker>& watch) {
  if (watch->listed.load(std::memory_order_relaxed) || !CanWatch()) return;
  bool start = false;
  {
    absl::MutexLock lock(&mu_);
    if (watch->listed.exchange(true)) return;
    open_.push_back(watch);
    start = !std::exchange(at_worker_, true);
  }
  if (start && !RecoveryWorker::OfProcess().Add(shared_from_this())) {
    // Without a worker nobody would see the channel READY again: by time alone.
    kind_.store(Kind::kUnwatched, std::memory_order_release);
  }
}

bool ChannelRecovery::AnyOpen() {
  std::vector<std::shared_ptr<WatchedBreaker>>
      closed;  // dropped after the lock
  absl::MutexLock lock(&mu_);
  const auto first_closed =
      std::stable_partition(open_.begin(), open_.end(), [](const auto& watch) {
        return watch->breaker->state() != State::kClosed;
      });
  closed.assign(std::make_move_iterator(first_closed),
                std::make_move_iterator(open_.end()));
  open_.erase(first_closed, open_.end());
  for (const auto& watch : closed) watch->listed.store(false);
  at_worker_ = !open_.empty();
  return at_worker_;
}

std::vector<std::shared_ptr<WatchedBreaker>> ChannelRecovery::Open() const {
  absl::ReaderMutexLock lock(&mu_);
  return open_;
}

bool ChannelRecovery::IsConnected() {
  return !CanWatch() || channel_->GetState(false) == GRPC_CHANNEL_READY;
}

}  // namespace grpc_resilience::internal

// The delivering half of QueueWorker: from what is due to what becomes of it.

#include <algorithm>
#include <utility>

#include "grpc_resilience/random.h"
#include "queue/queue_worker.h"
#include "queue/wall_time.h"

namespace grpc_resilience::internal {
namespace {

// After a rejection, until the breaker is asked again.
constexpr std::chrono::milliseconds kPause(250);
constexpr std::chrono::seconds kLeaseBeyondTimeout(5);

Duration BackoffAfter(const BackoffPolicy& policy, int failures) {
  Backoff backoff(policy);
  Duration wait{0};
  for (int i = 0; i < std::min(failures, 64); ++i) {
    wait = backoff.Next(Random::Real());
  }
  return wait;
}

}  // namespace

void QueueWorker::StartDeliveries() {
  const absl::Time now = absl::Now();
  if (now < next_look_) return;
  next_look_ = now + absl::FromChrono(options_.poll_interval);
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels;
  int room = options_.max_in_flight;
  {
    absl::MutexLock lock(&mu_);
    channels = channels_;
    room -= static_cast<int>(under_way_.size());
  }
  if (channels.empty()) next_look_ = absl::InfiniteFuture();
  for (const auto& [target, weak] : channels) {
    const std::shared_ptr<grpc::Channel> channel = weak.lock();
    if (room <= 0 || channel == nullptr) continue;
    if (const auto paused = paused_until_.find(target);
        paused != paused_until_.end() && now < paused->second) {
      next_look_ = std::min(next_look_, paused->second);
      continue;
    }
    const WallTime wall = WallNow();
    auto leased = store_->Lease(
        target, owner_, wall,
        wall + ToMs(options_.delivery_timeout) + kLeaseBeyondTimeout, room);
    if (!leased.ok()) {
      NoteError(leased.status());
      continue;
    }
    room -= static_cast<int>(leased->size());
    for (QueueEntry& entry : *leased) Deliver(std::move(entry), channel);
  }
}

void QueueWorker::Deliver(QueueEntry entry,
                          const std::shared_ptr<grpc::Channel>& channel) {
  const std::int64_t id = entry.id;
  // By the lease, not from now: a file that was locked for long, or a process that
  // was stopped, has used up some of it.
  const WallTime deadline = entry.leased_until - kLeaseBeyondTimeout;
  const auto delivery = std::make_shared<Delivery>(std::move(entry), channel);
  bool stopping = false;
  {
    absl::MutexLock lock(&mu_);
    under_way_[id] = delivery;
    stopping = stopping_;
  }
  if (stopping) delivery->Cancel();
  delivery->Start(deadline, [this, id] {
    absl::MutexLock lock(&mu_);
    const auto found = under_way_.find(id);
    ended_.push_back(std::move(found->second));
    under_way_.erase(found);
  });
}

void QueueWorker::Settle(const Delivery& ended) {
  const QueueEntry& entry = ended.entry();
  const std::string error = ended.error();
  next_look_ = absl::InfinitePast();  // there is room for another one
  DeliveryResult result = ended.result();
  bool stopping = false;
  {
    absl::MutexLock lock(&mu_);
    stopping = stopping_;
  }
  if (result == DeliveryResult::kAgain &&
      entry.deliveries + 1 >= options_.max_deliveries && !stopping) {
    result = DeliveryResult::kNever;
  }
  absl::StatusOr<bool> settled = false;
  switch (result) {
    case DeliveryResult::kDone:
      settled = store_->Complete(entry);
      break;
    case DeliveryResult::kRejected:
      paused_until_[entry.target] = absl::Now() + absl::FromChrono(kPause);
      settled = store_->Retry(entry, WallNow() + kPause, false, error);
      break;
    case DeliveryResult::kAgain:
      settled = store_->Retry(
          entry,
          WallNow() + ToMs(stopping ? Duration::zero()
                                    : BackoffAfter(options_.backoff,
                                                   entry.deliveries + 1)),
          !stopping, error);
      break;
    case DeliveryResult::kNever:
      settled = store_->Bury(entry, error);
      break;
  }
  NoteError(settled.status());
  absl::MutexLock lock(&mu_);
  if (result == DeliveryResult::kDone) ++stats_.delivered;
  if (result == DeliveryResult::kAgain) ++stats_.failed;
  if (result == DeliveryResult::kNever) ++stats_.failed, ++stats_.buried;
}

}  // namespace grpc_resilience::internal

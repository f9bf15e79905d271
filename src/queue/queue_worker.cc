#include "queue/queue_worker.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_resilience/random.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kMaxWaitingPuts = 1000;
constexpr std::size_t kPutsPerCommit = 100;
// After a rejection, until the breaker is asked again.
constexpr std::chrono::milliseconds kPause(250);
constexpr std::chrono::seconds kLeaseBeyondTimeout(5);

WallTime Now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
}

std::chrono::milliseconds ToMs(Duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

// Nobody else's, neither in another process nor in one that comes after this.
std::string MakeOwner() {
  return absl::StrCat(getpid(), "-", absl::Hex(Random::Real().Bits()));
}

Duration BackoffAfter(const BackoffPolicy& policy, int failures) {
  Backoff backoff(policy);
  Duration wait{0};
  for (int i = 0; i < std::min(failures, 64); ++i) {
    wait = backoff.Next(Random::Real());
  }
  return wait;
}

}  // namespace

QueueWorker::QueueWorker(std::shared_ptr<QueueStore> store,
                         CallQueueOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      owner_(MakeOwner()) {}

QueueWorker::~QueueWorker() { Stop(); }

bool QueueWorker::StartLocked() {
  if (stopping_) return false;
  if (started_) return true;
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (const std::system_error&) {
    return false;
  }
  started_ = true;
  return true;
}

void QueueWorker::Put(QueuePut put) {
  const char* why = nullptr;
  {
    absl::MutexLock lock(&mu_);
    if (puts_.size() >= kMaxWaitingPuts) {
      why = "not queued: too many at once";
    } else if (!StartLocked()) {
      why = stopping_ ? "not queued: the queue is stopped"
                      : "not queued: no thread is to be had";
    } else {
      puts_.push_back(std::move(put));
      return;
    }
    ++stats_.refused;
  }
  put.reply.Answer(FallbackAnswer::Declined(why));
}

void QueueWorker::UseChannel(const std::string& target,
                             const std::shared_ptr<grpc::Channel>& channel) {
  absl::MutexLock lock(&mu_);
  channels_[target] = channel;
  look_now_ = StartLocked();
}

void QueueWorker::Stop() {
  std::vector<std::shared_ptr<Delivery>> under_way;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    for (const auto& entry : under_way_) under_way.push_back(entry.second);
  }
  // Not under the lock: the end may come within Cancel, on this thread.
  for (const auto& delivery : under_way) delivery->Cancel();
  under_way.clear();
  if (thread_.joinable()) thread_.join();
}

CallQueue::Stats QueueWorker::stats() const {
  absl::MutexLock lock(&mu_);
  return stats_;
}

void QueueWorker::Loop() {
  for (;;) {
    std::vector<QueuePut> puts;
    std::deque<std::shared_ptr<Delivery>> ended;
    bool stopping = false;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithDeadline(absl::Condition(this, &QueueWorker::HasWorkLocked),
                            next_look_);
      while (!puts_.empty() && puts.size() < kPutsPerCommit) {
        puts.push_back(std::move(puts_.front()));
        puts_.pop_front();
      }
      ended.swap(ended_);
      stopping = stopping_;
      if (look_now_) next_look_ = absl::InfinitePast();
      look_now_ = false;
      if (stopping && puts.empty() && ended.empty()) {
        if (under_way_.empty()) return;
        // The last ones are on their way back.
        mu_.Await(absl::Condition(
            +[](std::deque<std::shared_ptr<Delivery>>* back) {
              return !back->empty();
            },
            &ended_));
        continue;
      }
    }
    if (!puts.empty()) Store(std::move(puts));
    for (const auto& delivery : ended) Settle(*delivery);
    if (!stopping) StartDeliveries();
  }
}

void QueueWorker::NoteError(const absl::Status& status) {
  if (status.ok()) return;
  absl::MutexLock lock(&mu_);
  stats_.last_store_error = std::string(status.message());
}

// --- Storing
// ------------------------------------------------------------------

void QueueWorker::Store(std::vector<QueuePut> puts) {
  // Whoever has gone has been told that the call failed.
  puts.erase(
      std::remove_if(puts.begin(), puts.end(),
                     [](const QueuePut& put) { return put.reply.over(); }),
      puts.end());
  if (puts.empty()) return;
  if (!HasRoom(puts.size())) return Refuse(puts, "the queue is full");
  const WallTime now = Now();
  std::vector<QueuedRequest> requests;
  requests.reserve(puts.size());
  for (const QueuePut& put : puts) {
    requests.push_back(MakeRequest(*put.call, now));
  }
  const absl::StatusOr<QueueStore::Ids> ids = store_->Put(requests);
  if (!ids.ok()) {
    NoteError(ids.status());
    return Refuse(puts, std::string(ids.status().message()));
  }
  room_ -= static_cast<std::int64_t>(ids->size());
  next_look_ = absl::InfinitePast();
  Answer(puts, *ids);
}

bool QueueWorker::HasRoom(std::size_t more) {
  const auto needed = static_cast<std::int64_t>(more);
  if (room_ < needed || absl::Now() >= count_again_) {
    const auto counts = store_->Count();
    // What is the matter will be said by Put.
    room_ = counts.ok() ? options_.max_entries - counts->waiting : needed;
    count_again_ = absl::Now() + absl::Seconds(1);
  }
  return room_ >= needed;
}

QueuedRequest QueueWorker::MakeRequest(const FailedCall& call,
                                       WallTime now) const {
  QueuedRequest request;
  request.target = call.target;
  request.method = call.method;
  request.request = call.request;
  for (const auto& entry : call.metadata) {
    if (std::find(options_.metadata_keys.begin(), options_.metadata_keys.end(),
                  entry.first) != options_.metadata_keys.end()) {
      request.metadata.push_back(entry);
    }
  }
  if (!call.idempotency_key.empty()) {
    request.metadata.emplace_back(call.idempotency_key_header,
                                  call.idempotency_key);
  }
  request.queued = now;
  request.expires = now + ToMs(options_.time_to_live);
  if (options_.ordering_key) {
    try {
      request.ordering_key = options_.ordering_key(call);
    } catch (...) {
      request.ordering_key.clear();  // in no order
    }
  }
  return request;
}

void QueueWorker::Answer(const std::vector<QueuePut>& puts,
                         const QueueStore::Ids& ids) {
  {
    absl::MutexLock lock(&mu_);
    stats_.queued += static_cast<std::int64_t>(ids.size());
  }
  QueueStore::Ids unheard;
  for (std::size_t i = 0; i < puts.size(); ++i) {
    const bool heard = puts[i].reply.Answer(FallbackAnswer::Response(
        puts[i].response, puts[i].type, absl::StrCat("id=", ids[i])));
    if (!heard) unheard.push_back(ids[i]);
  }
  if (unheard.empty()) return;
  NoteError(store_->Withdraw(unheard));
  absl::MutexLock lock(&mu_);
  stats_.queued -= static_cast<std::int64_t>(unheard.size());
}

void QueueWorker::Refuse(const std::vector<QueuePut>& puts,
                         const std::string& why) {
  {
    absl::MutexLock lock(&mu_);
    stats_.refused += static_cast<std::int64_t>(puts.size());
  }
  for (const QueuePut& put : puts) {
    put.reply.Answer(
        FallbackAnswer::Declined(absl::StrCat("not queued: ", why)));
  }
}

// --- Delivering
// ---------------------------------------------------------------

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
  for (const auto& [target, weak] : channels) {
    const std::shared_ptr<grpc::Channel> channel = weak.lock();
    if (room <= 0 || channel == nullptr) continue;
    if (const auto paused = paused_until_.find(target);
        paused != paused_until_.end() && now < paused->second) {
      next_look_ = std::min(next_look_, paused->second);
      continue;
    }
    const WallTime wall = Now();
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
  const auto delivery = std::make_shared<Delivery>(std::move(entry), channel);
  bool stopping = false;
  {
    absl::MutexLock lock(&mu_);
    under_way_[id] = delivery;
    stopping = stopping_;
  }
  if (stopping) delivery->Cancel();
  delivery->Start(options_.delivery_timeout, [this, id] {
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
      settled = store_->Retry(entry, Now() + kPause, false, error);
      break;
    case DeliveryResult::kAgain:
      settled = store_->Retry(
          entry,
          Now() + ToMs(stopping ? Duration::zero()
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

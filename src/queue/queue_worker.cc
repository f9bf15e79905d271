#include "queue/queue_worker.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_resilience/random.h"
#include "queue/wall_time.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kMaxWaitingPuts = 1000;
constexpr std::size_t kPutsPerCommit = 100;

// Nobody else's, neither in another process nor in one that comes after this.
std::string MakeOwner() {
  return absl::StrCat(getpid(), "-", absl::Hex(Random::Real().Bits()));
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

void QueueWorker::Store(std::vector<QueuePut> puts) {
  // Whoever has gone has been told that the call failed.
  puts.erase(
      std::remove_if(puts.begin(), puts.end(),
                     [](const QueuePut& put) { return put.reply.over(); }),
      puts.end());
  if (puts.empty()) return;
  if (!HasRoom(puts.size())) return Refuse(puts, "the queue is full");
  const WallTime now = WallNow();
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

}  // namespace grpc_resilience::internal

// The thread of a CallQueue: stores requests, leases entries that are due, delivers
// them and settles what became of them. Nothing else touches the store.

#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpc_resilience/call_queue.h"
#include "queue/delivery.h"

namespace grpc_resilience::internal {

/// A request that a caller wants stored, and what he is answered then.
struct QueuePut {
  std::shared_ptr<const FailedCall> call;
  FallbackReply reply;
  std::string response;
  std::string type;
};

/// This type is safe to use from several threads at once.
class QueueWorker {
 public:
  QueueWorker(std::shared_ptr<QueueStore> store, CallQueueOptions options);
  ~QueueWorker();
  QueueWorker(const QueueWorker&) = delete;
  QueueWorker& operator=(const QueueWorker&) = delete;

  /// Never blocks.
  void Put(QueuePut put);
  void UseChannel(const std::string& target,
                  const std::shared_ptr<grpc::Channel>& channel);
  /// Cancels deliveries and waits for the thread.
  void Stop();

  const CallQueueOptions& options() const { return options_; }
  CallQueue::Stats stats() const;

 private:
  bool StartLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWorkLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !puts_.empty() || !ended_.empty() || stopping_ || look_now_;
  }

  // The thread's.
  void Loop();
  void Store(std::vector<QueuePut> puts);
  bool HasRoom(std::size_t more);
  QueuedRequest MakeRequest(const FailedCall& call, WallTime now) const;
  void Answer(const std::vector<QueuePut>& puts, const QueueStore::Ids& ids);
  void Refuse(const std::vector<QueuePut>& puts, const std::string& why);
  void Settle(const Delivery& ended);
  void StartDeliveries();
  void Deliver(QueueEntry entry, const std::shared_ptr<grpc::Channel>& channel);
  void NoteError(const absl::Status& status);

  const std::shared_ptr<QueueStore> store_;
  const CallQueueOptions options_;
  const std::string owner_;

  // Of the thread.
  std::int64_t room_ = 0;  // for entries, until it is counted again
  absl::Time count_again_ = absl::InfinitePast();
  absl::Time next_look_ = absl::InfinitePast();
  std::map<std::string, absl::Time> paused_until_;

  mutable absl::Mutex mu_;
  std::deque<QueuePut> puts_ ABSL_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<Delivery>> ended_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::int64_t, std::shared_ptr<Delivery>> under_way_
      ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels_
      ABSL_GUARDED_BY(mu_);
  CallQueue::Stats stats_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool look_now_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace grpc_resilience::internal

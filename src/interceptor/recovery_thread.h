// One thread of the recovery worker, with the channels that it watches.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"
#include "interceptor/recovery_probe.h"

namespace grpc_resilience::internal {

class ChannelRecovery;

/// This type is safe to use from several threads at once. Never destroyed: a
/// program may leave main while a breaker is open.
class RecoveryThread {
 public:
  /// `all_channels` counts the channels of every thread.
  explicit RecoveryThread(std::atomic<std::size_t>* all_channels)
      : all_channels_(*all_channels) {}

  /// Starts the thread when it isn't running. False: the system has no thread to
  /// give, and nothing was added.
  bool Add(std::shared_ptr<ChannelRecovery> recovery);
  std::size_t channels() const {
    return channels_.load(std::memory_order_relaxed);
  }

 private:
  struct Entry final : RecoveryEvent {
    void OnEvent() override {
      watching = false;
      due = TimePoint::min();
    }

    std::shared_ptr<ChannelRecovery> recovery;
    TimePoint since;
    TimePoint due;
    bool watching = false;  // the queue has its address
    bool over = false;      // only waits for the watch
    bool was_ready = true;  // READY from the start is no news
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  bool Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();
  /// False: nothing is left, and the thread counts as ended.
  bool TakeNew(Entries* entries) ABSL_LOCKS_EXCLUDED(mu_);
  void StepDue(const Entries& entries, grpc::CompletionQueue* queue);
  void Step(Entry* entry, TimePoint now, grpc::CompletionQueue* queue);
  void Probe(const Entry& entry, bool just_ready,
             const std::shared_ptr<grpc::Channel>& channel,
             grpc::CompletionQueue* queue);
  void Forget(Entries* entries);

  std::atomic<std::size_t>& all_channels_;
  std::atomic<std::size_t> channels_{0};
  absl::BitGen random_;  // of the thread

  absl::Mutex mu_;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  Entries new_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

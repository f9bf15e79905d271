// Traffic that doesn't wait for answers, as many independent users make it.
//
//   Load load(channel, {1000, seed});
//   ...
//   CallRecords calls = load.Stop();

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

#include "benchmark/bench.grpc.pb.h"
#include "benchmark/effect/call_record.h"

namespace grpc_resilience::bench {

/// A value type.
struct LoadPlan {
  int calls_per_second = 1000;
  unsigned seed = 1;
  /// Deadline of each call, from its start.
  std::chrono::milliseconds time_limit = std::chrono::seconds(1);
};

/// Calls Retried at random times (a Poisson process) with callbacks, from a thread
/// of its own. Each request carries its deadline. Safe to use from one thread.
class Load {
 public:
  Load(const std::shared_ptr<grpc::Channel>& channel, const LoadPlan& plan);
  ~Load() { Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// The calls that are over.
  CallRecords Over() const;
  /// Starts no more calls and waits for those in flight; a call that doesn't end
  /// 10 s after its deadline ends the program: CannotKeepUp.
  CallRecords Stop();

 private:
  struct Call;

  void Run();
  void StartCall();
  void EndCall(std::unique_ptr<Call> call, const grpc::Status& status);

  const LoadPlan plan_;
  const std::unique_ptr<Bench::Stub> stub_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mu_;
  std::condition_variable none_in_flight_;
  CallRecords over_;           // guarded by mu_
  std::size_t in_flight_ = 0;  // guarded by mu_
  std::thread thread_;
};

/// `count` blocking calls, one right after the other, with a deadline of 1 s each.
CallRecords CallInTurn(const std::shared_ptr<grpc::Channel>& channel,
                       int count);

}  // namespace grpc_resilience::bench

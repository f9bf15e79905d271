// What the recovery worker knows of one channel: whether it can be watched, and
// which of its breakers are open. Lives with the channel's interceptor factory.
//
//   recovery->OnRejected(watch);          // a call was rejected: start watching
//   if (!recovery->MayProbe(watch)) ...   // nothing to be learnt from a probe now

#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience::internal {

/// A breaker that calls of a channel consult.
struct WatchedBreaker {
  WatchedBreaker(std::shared_ptr<CircuitBreaker> watched, bool early,
                 std::optional<BackgroundProbe> background)
      : breaker(std::move(watched)),
        early_probe(early),
        background_probe(std::move(background)) {}

  const std::shared_ptr<CircuitBreaker> breaker;
  /// A channel that is READY again makes it ready for a probe before its time.
  const bool early_probe;
  const std::optional<BackgroundProbe> background_probe;
  /// Is in its ChannelRecovery's list of open ones.
  std::atomic<bool> listed{false};
  /// A background probe is under way.
  std::atomic<bool> probing{false};
};

/// This type is safe to use from several threads at once.
class ChannelRecovery : public std::enable_shared_from_this<ChannelRecovery> {
 public:
  /// The channel whose calls these are; once, before anything else. A channel that
  /// isn't gRPC's own class is never watched.
  void SetChannel(grpc::ChannelInterface* channel);

  /// The one object for a breaker on this channel while its policy stays. Null when
  /// the policy doesn't want it watched.
  std::shared_ptr<WatchedBreaker> For(std::shared_ptr<CircuitBreaker> breaker,
                                      const BreakerPolicy& policy,
                                      std::uint64_t policy_version);

  /// False: the channel isn't READY, so an attempt would say nothing of the target;
  /// the worker sees to it that it becomes READY. Only for an open or half-open
  /// breaker; from within a call of the channel.
  bool MayProbe(const std::shared_ptr<WatchedBreaker>& watch);

  /// A call was rejected. From within a call of the channel.
  void OnRejected(const std::shared_ptr<WatchedBreaker>& watch);

  /// True also where it can't be known. From within a call of the channel.
  bool IsConnected();

  // By the worker.

  /// Null: the channel is gone.
  std::shared_ptr<grpc::Channel> Lock() const { return weak_channel_.lock(); }
  /// Drops those that are closed. False: none is left, and the worker has been
  /// forgotten; the next rejection starts it again.
  bool AnyOpen();
  std::vector<std::shared_ptr<WatchedBreaker>> Open() const;

 private:
  bool CanWatch();

  enum class Kind { kUnknown, kWatched, kUnwatched };

  grpc::Channel* channel_ = nullptr;
  std::weak_ptr<grpc::Channel> weak_channel_;
  std::atomic<Kind> kind_{Kind::kUnknown};

  mutable absl::Mutex mu_;
  std::uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;  // of the policies
  absl::flat_hash_map<std::shared_ptr<CircuitBreaker>,
                      std::shared_ptr<WatchedBreaker>>
      known_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<WatchedBreaker>> open_ ABSL_GUARDED_BY(mu_);
  bool at_worker_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace grpc_resilience::internal

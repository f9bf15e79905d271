// Everything that the calls of one method on one channel have in common, worked
// out at the first call and shared by the later ones.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/call_session.h"
#include "core/latency_quantile.h"
#include "grpc_resilience/resilience.h"
#include "interceptor/channel_recovery.h"
#include "interceptor/fallback_plan.h"
#include "interceptor/message_type.h"
#include "interceptor/status_details.h"

namespace grpc_resilience::internal {

/// Immutable but for the notice. Calls in flight hold it, so they end under the
/// policy they began with.
struct CallPlan {
  explicit CallPlan(const std::string& called)
      : target(called), rejection_details(called) {}

  /// Says once per method that its messages can't be known and what that means.
  void NoticeUnknownMessages() const;

  std::shared_ptr<Resilience> resilience;
  std::shared_ptr<Timer> timer;
  const std::string target;
  const RejectionDetails rejection_details;
  std::string method;
  MethodPolicy policy;
  OutcomePredicate outcome_predicate;
  std::shared_ptr<CircuitBreaker> breaker;  // null: disabled
  std::shared_ptr<ChannelRecovery> recovery;
  std::shared_ptr<WatchedBreaker> watch;                   // null: not watched
  std::shared_ptr<const Resilience::Observers> observers;  // null: none
  MethodTypes types;
  std::unique_ptr<const FallbackPlan> fallback;  // null: none
  /// Retries as the policy says.
  SessionPlan session;
  /// One attempt, whatever the policy says.
  SessionPlan single_session;
  RetryPolicy single_retry;
  /// Hedged instead of retried; `session` is made for it.
  bool hedged = false;
  RetryPolicy hedged_retry;
  std::shared_ptr<LatencyQuantile> latency;  // null: a fixed delay
  /// Some status of this method leads to another attempt.
  bool may_retry = false;
  /// The same of streams, which are never hedged.
  SessionPlan stream_session;
  bool stream_may_retry = false;
  /// Config::max_replay_bytes.
  std::int64_t max_replay_bytes = 0;
  mutable std::atomic<bool> noticed{false};
};

/// Some status leads to another attempt.
bool CanRetry(const RetryPolicy& retry, bool idempotent);

/// This type is safe to use from several threads at once.
class CallPlanCache {
 public:
  CallPlanCache(std::shared_ptr<Resilience> resilience, std::string target);

  /// Of the channel whose calls these are.
  ChannelRecovery& recovery() { return *recovery_; }

  std::shared_ptr<const CallPlan> Get(std::string_view method);

  const std::shared_ptr<Resilience>& resilience() const { return resilience_; }

 private:
  std::shared_ptr<const CallPlan> Make(std::string_view method,
                                       std::uint64_t version) const;

  /// Kept when the policies change, unless they change what is asked of it.
  std::shared_ptr<LatencyQuantile> LatencyOf(const std::string& method,
                                             const HedgingPolicy& hedging) const
      ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<Resilience> resilience_;
  const std::string target_;
  const std::shared_ptr<ChannelRecovery> recovery_ =
      std::make_shared<ChannelRecovery>();
  mutable absl::Mutex mu_;
  std::uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<const CallPlan>> plans_
      ABSL_GUARDED_BY(mu_);
  struct Latency {
    double quantile = 0;
    int minimum = 0;
    std::shared_ptr<LatencyQuantile> latency;
  };
  mutable absl::flat_hash_map<std::string, Latency> latencies_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

// The life of one call as a state machine without I/O: events in, decisions out.
// The adapter starts attempts, waits and hands over the result; everything that
// decides is here, so that it is tested without a server.
//
//   CallSession session(plan, deadline);
//   Decision d = session.Start();
//   while (d.step != Step::kFinish)
//     d = d.step == Step::kAttempt ? session.OnAttemptEnd(Run(d)) : session.OnWaitOver();
//   Deliver(session.reason(), session.local_status());

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/retry_decision.h"
#include "grpc_resilience/backoff.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/deadline.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/retry_policy.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience::internal {

/// What every call of one method of one target has in common. The pointers
/// outlive the sessions made from it.
struct SessionPlan {
  std::string_view target;
  const RetryPolicy* retry = nullptr;
  bool idempotent = false;
  /// Only one attempt, and StopReason::kChainStop where there would be another.
  bool chain_stop = false;
  /// Null: no breaker (BreakerMode::kDisabled).
  CircuitBreaker* breaker = nullptr;
  BreakerCounts breaker_counts = BreakerCounts::kAttempts;
  /// BreakerPolicy::half_open_per_attempt_timeout.
  std::optional<Duration> probe_timeout;
  /// Asked when the breaker isn't closed: false while an attempt would say nothing
  /// of the target. Empty: never so.
  std::function<bool()> may_probe;
  Duration min_deadline_for_failure{0};
  /// Null: outcome.h's table.
  const OutcomePredicate* outcome_predicate = nullptr;
  const Clock* clock = nullptr;
  Random* random = nullptr;
};

enum class Step { kAttempt, kWait, kFinish };

struct Decision {
  Step step = Step::kFinish;
  /// kAttempt: 1 is the first.
  int attempt = 0;
  /// kAttempt: of that attempt.
  Deadline attempt_deadline;
  /// kWait: call OnWaitOver then.
  TimePoint wait_until;
};

/// How an attempt ended.
struct AttemptEnd {
  StatusCode code = StatusCode::OK;
  std::string message;
  ErrorOrigin origin = ErrorOrigin::kPeerOrTransport;
  std::optional<Pushback> pushback;
  /// AttemptResult::response.
  const void* response = nullptr;
};

/// A status that the library made itself.
struct LocalStatus {
  StatusCode code = StatusCode::UNAVAILABLE;
  std::string message;
};

/// Not safe for use from several threads at once: the adapter orders the events.
class CallSession {
 public:
  /// `attempts_before`: made by other sessions of the same call (hedging).
  CallSession(const SessionPlan& plan, Deadline deadline,
              int attempts_before = 0)
      : plan_(&plan),
        deadline_(deadline),
        backoff_(plan.retry->backoff),
        attempts_(attempts_before) {}

  /// The first decision: an attempt, or kFinish (breaker open, deadline over,
  /// cancelled). Reads the clock only when there is a deadline or an open breaker.
  Decision Start();
  Decision OnAttemptEnd(const AttemptEnd& end);
  Decision OnWaitOver();
  /// Instead of OnWaitOver: nothing comes after the last attempt, for this reason.
  Decision GiveUp(StopReason reason);

  /// From now on nothing new starts: the next event ends the call as CANCELLED.
  void OnCancel() { cancelled_ = true; }
  /// The next event ends the call with UNAVAILABLE (Resilience::Shutdown).
  void OnShutdown() { shutdown_ = true; }

  /// When the attempt under way (with BreakerCounts::kCalls, the call) becomes
  /// slow for the breaker; empty when that doesn't matter.
  std::optional<TimePoint> slow_at() const {
    // Never: after Permit::StopTiming.
    if (!permit_ || permit_->slow_at() == TimePoint::max()) return std::nullopt;
    return permit_->slow_at();
  }
  /// It has come to that, and the attempt is still under way.
  void OnSlow() {
    if (permit_) permit_->MarkSlow();
  }

  /// A stream's first message: from now on the attempt has no limit of its own and
  /// isn't slow, and a probe has proved what it should, so that a long stream holds
  /// no half-open round up.
  void OnFirstMessage();
  /// Nothing of the attempt under way can be sent again.
  void ForbidRetry(StopReason reason) { no_retry_ = reason; }

  /// The call turns out to have less time (a parent call's deadline).
  void LowerDeadline(Deadline deadline) {
    deadline_ = Earlier(deadline_, deadline);
  }

  /// True while the retry throttle allows another attempt.
  bool BudgetAllows() const;
  /// With BreakerCounts::kCalls the sessions of one call share one permit: from
  /// now on this one has it.
  void TakePermitOf(CallSession* other);
  /// After kFinish: what the whole call has made.
  void set_attempts(int attempts) { attempts_ = attempts; }

  const Deadline& deadline() const { return deadline_; }
  bool cancelled() const { return cancelled_; }
  /// The attempt under way is a probe of a half-open breaker.
  bool is_probe() const { return permit_ && permit_->is_probe(); }
  /// The attempt under way ends by per_attempt_timeout or the limit of a probe
  /// before the call's deadline.
  bool attempt_limited() const { return limited_; }
  /// Attempts started so far.
  int attempts() const { return attempts_; }
  /// Of the last attempt that ended.
  Classification classification() const { return classification_; }

  // After kFinish:
  StopReason reason() const { return reason_; }
  /// Set: the caller gets this. Empty: the caller gets the last attempt's result.
  const std::optional<LocalStatus>& local_status() const {
    return local_status_;
  }
  /// Set with kBreakerOpen.
  const std::optional<Rejection>& rejection() const { return rejection_; }

 private:
  /// Asks the breaker; rejected or the next attempt.
  Decision Admit(std::optional<TimePoint> now);
  Decision Begin(std::optional<TimePoint> now);
  Deadline DeadlineLessReserve(TimePoint now) const;
  bool ReachedAttemptLimit(TimePoint now) const;
  bool IsRetried(StatusCode code) const;
  void Judge(const AttemptEnd& end);
  bool CountsCalls() const {
    return plan_->breaker_counts == BreakerCounts::kCalls;
  }
  /// Hands the permit back.
  void Report(const Classification& verdict, StatusCode code,
              std::string_view message);

  Decision Finish(StopReason reason);
  Decision Finish(StopReason reason, StatusCode code, std::string message);
  /// With the last attempt's result, said clearer when it ran into its own limit.
  Decision FinishWithLast(StopReason reason, TimePoint now);
  Decision FinishCancelled();
  Decision FinishShutDown();
  Decision FinishRejected();

  const SessionPlan* plan_;
  Deadline deadline_;
  Backoff backoff_;
  std::optional<Permit> permit_;
  int attempts_ = 0;
  bool fair_time_ = true;  // of the attempt under way
  bool limited_ = false;   // by attempt_time_
  Duration attempt_time_{0};
  bool probe_limit_ = false;  // attempt_time_ is the limit of a probe
  TimePoint attempt_limit_;   // only when limited_
  bool timed_out_ = false;    // the last attempt, at attempt_limit_
  bool connected_ = true;     // what may_probe said
  bool cancelled_ = false;
  bool shutdown_ = false;
  std::optional<StopReason> no_retry_;
  Classification classification_;
  StatusCode last_code_ = StatusCode::OK;  // of the last attempt that ended
  std::string last_message_;               // with kCalls only
  StopReason reason_ = StopReason::kOk;
  std::string last_failure_;  // "UNAVAILABLE: message" of the last attempt
  std::optional<LocalStatus> local_status_;
  std::optional<Rejection> rejection_;
};

}  // namespace grpc_resilience::internal

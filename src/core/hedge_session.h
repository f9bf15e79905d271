// The decisions of one hedged call: a CallSession of one attempt for each hedge, and
// when the next one begins. Events in, steps out; no I/O, thread or gRPC.
//
//   HedgeSession hedges(plan, deadline, delay, &first);  // its attempt has begun
//   HedgeStep step = hedges.Next(now);
//   while (step.step == Step::kAttempt) {
//     Start(step.attempt, step.attempt_deadline);
//     step = hedges.Next(now);
//   }
//   kWait: Next again at wait_until; any end of an attempt: OnAttemptEnd

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/call_session.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

/// What a CallSession needs as its plan's retry policy: max_attempts and codes are
/// those of the hedging, and nothing is waited for.
RetryPolicy HedgedRetry(const RetryPolicy& retry, const HedgingPolicy& hedging);

struct HedgeStep {
  Step step = Step::kWait;
  /// kAttempt: its number, from 2 on.
  int attempt = 0;
  Deadline attempt_deadline;
  /// kWait: for that time as well; empty: for an attempt's end alone.
  std::optional<TimePoint> wait_until;
};

/// Not safe for use from several threads at once: the adapter orders the events.
class HedgeSession {
 public:
  /// `plan` holds HedgedRetry; it and `first`, which has just begun, must outlive
  /// this object.
  HedgeSession(const SessionPlan& plan, Deadline deadline, Duration delay,
               CallSession* first);

  /// What to do now.
  HedgeStep Next(TimePoint now);
  /// Attempt `number` ended. After kFinish, for those still in flight: only told.
  HedgeStep OnAttemptEnd(int number, const AttemptEnd& end, TimePoint now);

  /// As of CallSession.
  void OnCancel();
  void OnShutdown() { shutdown_ = true; }
  void LowerDeadline(Deadline deadline);

  CallSession& session(int number) {
    return number == 1 ? *first_
                       : *later_[static_cast<std::size_t>(number - 2)];
  }
  int started() const { return started_; }
  int in_flight() const { return in_flight_; }
  bool finished() const { return finished_ != 0; }
  /// The retry throttle refused a hedge.
  bool budget_refused() const {
    return stopped_ == StopReason::kBudgetExhausted;
  }

  // After kFinish:

  /// The attempt whose result is the call's.
  int result() const { return finished_; }

 private:
  HedgeStep Begin(TimePoint now);
  HedgeStep StopHedging(StopReason reason, TimePoint now);
  HedgeStep Finish(int number);
  /// Nothing is in flight and nothing will be: ends with the last attempt.
  HedgeStep GiveUp(StopReason reason);

  const SessionPlan& plan_;
  Deadline deadline_;
  const Duration delay_;
  CallSession* const first_;
  std::vector<std::unique_ptr<CallSession>> later_;
  std::optional<TimePoint> next_at_;
  /// Why no more hedges begin.
  std::optional<StopReason> stopped_;
  int started_ = 1;
  int in_flight_ = 1;
  int ended_last_ = 1;
  bool may_go_on_ = false;  // after it
  int finished_ = 0;        // the attempt that decided
  bool cancelled_ = false;
  bool shutdown_ = false;
};

}  // namespace grpc_resilience::internal

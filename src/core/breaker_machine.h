// The part of a circuit breaker that needs its lock: transitions, half-open
// rounds, windows, operator modes and history. Made when a breaker first needs
// it, so that an idle one is small; CircuitBreaker comes here when the hot line
// alone doesn't decide.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/admission_ramp.h"
#include "core/breaker_context.h"
#include "core/breaker_identity.h"
#include "core/breaker_word.h"
#include "core/half_open_round.h"
#include "core/mode_override.h"
#include "core/open_period.h"
#include "core/pending_successes.h"
#include "core/transition_outbox.h"
#include "core/trip_rules.h"
#include "grpc_resilience/breaker_hot_line.h"
#include "grpc_resilience/breaker_snapshot.h"

namespace grpc_resilience::internal {

/// No breaker ever has these as its generation. What a permit with the first
/// records changes nothing:
constexpr std::uint64_t kNoGeneration =
    ~std::uint64_t{0} >> kBreakerGenerationShift;
/// Let through in SHADOW although AUTO would have rejected it.
constexpr std::uint64_t kShadowGeneration = kNoGeneration - 1;

/// What a permit is made of.
struct Admission {
  std::uint64_t generation = kNoGeneration;
  std::uint64_t probe = 0;  ///< 0: not a probe
};

/// What a permit came back with.
struct Report {
  Admission admission;
  Outcome outcome = Outcome::kIgnored;
  IgnoredCause cause = IgnoredCause::kUnspecified;
  /// A success for the trip rules, a failure for the retry budget.
  bool retried = false;
  StatusCode code = StatusCode::UNKNOWN;
  std::string_view message;
  TimePoint slow_at = TimePoint::max();
  /// Of TripRules, when it has been counted as slow already; else 0.
  std::uint64_t slow_ticket = 0;
  /// Its failure is in the bucket already, which is now empty.
  bool emptied_bucket = false;

  /// From the retry budget; else it puts back.
  bool takes_token() const { return retried || outcome == Outcome::kFailure; }
};

/// This type is safe to use from several threads at once.
class BreakerMachine {
 public:
  /// The identity and the hot line must outlive the machine. The breaker is
  /// CLOSED and has never been anything else.
  BreakerMachine(const BreakerIdentity& identity, BreakerHotLine& hot,
                 std::shared_ptr<const BreakerContext> context);

  /// Empty: rejected, and counted as such.
  std::optional<Admission> Admit(TimePoint now) ABSL_LOCKS_EXCLUDED(mu_);
  bool WouldAdmit(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);
  void Record(const Report& report) ABSL_LOCKS_EXCLUDED(mu_);
  /// Counts a success of a CLOSED breaker without the lock. False: not counted,
  /// it isn't as simple as that.
  bool RecordSuccessQuickly(const Report& report);
  /// Counts the call as slow while it is under way. Its ticket; 0 when that
  /// changes nothing.
  std::uint64_t MarkSlow(const Report& report) ABSL_LOCKS_EXCLUDED(mu_);

  void Reset() ABSL_LOCKS_EXCLUDED(mu_);
  void MakeProbeReady() ABSL_LOCKS_EXCLUDED(mu_);
  void OpenFor(Duration hinted, StatusCode code, std::string_view message)
      ABSL_LOCKS_EXCLUDED(mu_);
  void ForceMode(OperatorMode mode, std::optional<Duration> ttl,
                 std::string_view reason) ABSL_LOCKS_EXCLUDED(mu_);
  void Reconfigure(std::shared_ptr<const BreakerContext> context)
      ABSL_LOCKS_EXCLUDED(mu_);

  Rejection rejection(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);
  BreakerSnapshot snapshot(TimePoint now, SnapshotParts parts) const
      ABSL_LOCKS_EXCLUDED(mu_);
  OperatorMode ModeAt(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);

  // Need no lock:

  const Clock& clock() const { return clock_; }
  OpenLine& open_line() { return open_line_; }
  /// When a call that begins now will be slow.
  TimePoint SlowAt(TimePoint now) const;
  void CountIgnored(IgnoredCause cause);

  /// Tells the sink of transitions. After each call that may have made one.
  void Publish() { outbox_.Deliver(); }

 private:
  const BreakerRules& rules() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return context_->rules;
  }
  CountingPath PathLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // Transitions:

  /// The one writer of the state: a new generation with nothing counted, and
  /// the event that tells of it. A transition that isn't legal is left out.
  void TransitionToLocked(State to, TransitionReason reason, std::string why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// What is missing from the bucket when state `to` begins.
  std::uint32_t MissingOnEntryLocked(BreakerWord from, State to,
                                     TransitionReason reason) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OpenLocked(TransitionReason reason, std::string why,
                  std::string last_failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Enough probes have succeeded: on to the ramp, or CLOSED.
  void PassRoundLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void KeepEventLocked(TransitionEvent event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Modes (breaker_modes.cc):

  void SetModeLocked(ModeOverride mode, TransitionReason reason,
                     std::string why, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// What is missing from the bucket once FORCED_CLOSED is over; empty: as it is.
  std::optional<std::uint32_t> MissingAfterForcedClosedLocked() const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void EndModeLocked(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Admitting, by the state alone:

  std::optional<Admission> AdmitByStateLocked(TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// True when another probe may go beside `in_flight` others.
  bool HasSlotLocked(int in_flight) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // Recording (breaker_recording.cc):

  void RecordShadowLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordCallLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordByRulesLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Takes what was counted without the lock into the windows. From now on the
  /// period of `now` is counted; without a time, and with a time window, nothing
  /// is until the next call that has one.
  void TakePendingLocked(std::optional<TimePoint> now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OpenByBucketLocked(const Report& report, std::uint32_t failures)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeSuccessLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeFailureLocked(std::string last_failure)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordRampedLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Counts on the rules; why the breaker should open now.
  std::optional<std::string> CountLocked(const Report& report, bool slow,
                                         TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// The time, where counting this report needs it.
  TimePoint NowForLocked(const Report& report) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  /// Only where no other thread counts: not by CountingPath::kBucket.
  void CountOnBudgetLocked(bool takes_token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string FailureTextLocked(const Report& report) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);

  void ConfigureLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  OpenLine open_line_;
  BreakerHotLine& hot_;
  const BreakerIdentity& identity_;
  const Clock& clock_;
  std::atomic<Duration> slow_call_duration_{Duration::zero()};
  std::array<std::atomic<std::uint64_t>, kIgnoredCauses> ignored_{};
  mutable PendingSuccesses pending_;
  std::atomic<Duration> bucket_length_{
      Duration::zero()};             ///< 0: no such window
  std::atomic<bool> in_row_{false};  ///< a success would end a row of failures

  mutable absl::Mutex mu_;
  std::shared_ptr<const BreakerContext> context_ ABSL_GUARDED_BY(mu_);
  // Looking takes pending successes in, which nobody can tell.
  mutable TripRules trip_ ABSL_GUARDED_BY(mu_);
  mutable std::int64_t pending_period_ ABSL_GUARDED_BY(mu_) = 0;
  HalfOpenRound round_ ABSL_GUARDED_BY(mu_);
  AdmissionRamp ramp_ ABSL_GUARDED_BY(mu_);
  OpenPeriod open_period_ ABSL_GUARDED_BY(mu_);
  ModeOverride mode_ ABSL_GUARDED_BY(mu_);
  ShadowCounts shadow_ ABSL_GUARDED_BY(mu_);
  TimePoint since_ ABSL_GUARDED_BY(mu_);
  // Null: none. Shared, so that it is copied outside the lock.
  std::shared_ptr<const std::string> last_failure_ ABSL_GUARDED_BY(mu_);
  std::vector<TransitionEvent> history_ ABSL_GUARDED_BY(mu_);

  TransitionOutbox outbox_;
};

}  // namespace grpc_resilience::internal

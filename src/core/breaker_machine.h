// The part of a circuit breaker that needs its lock: transitions, half-open
// rounds, the count window, settings and history. CircuitBreaker comes here
// when the hot line alone doesn't decide.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/breaker_rules.h"
#include "core/breaker_word.h"
#include "core/count_window.h"
#include "core/half_open_round.h"
#include "core/open_period.h"
#include "core/transition_outbox.h"
#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience::internal {

/// No breaker ever has it: what a permit with it records changes nothing.
constexpr std::uint64_t kNoGeneration = ~std::uint64_t{0};

/// What a permit is made of.
struct Admission {
  std::uint64_t generation = kNoGeneration;
  std::uint64_t probe = 0;  ///< 0: not a probe
};

/// What a permit came back with.
struct Report {
  Admission admission;
  Outcome outcome = Outcome::kIgnored;
  StatusCode code = StatusCode::UNKNOWN;
  std::string_view message;
};

/// This type is safe to use from several threads at once.
class BreakerMachine {
 public:
  /// All references, and `sink` unless it is null, must outlive the machine.
  BreakerMachine(const BreakerKey& key, BreakerHotLine& hot,
                 const BreakerRules& rules, const Clock& clock, Random& random,
                 TransitionSink* sink);

  /// Empty: rejected, and counted as such.
  std::optional<Admission> Admit(TimePoint now) ABSL_LOCKS_EXCLUDED(mu_);
  bool WouldAdmit(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);
  void Record(const Report& report) ABSL_LOCKS_EXCLUDED(mu_);
  void Reset() ABSL_LOCKS_EXCLUDED(mu_);
  void Reconfigure(const BreakerRules& rules) ABSL_LOCKS_EXCLUDED(mu_);

  Rejection rejection(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);
  BreakerSnapshot snapshot(TimePoint now) const ABSL_LOCKS_EXCLUDED(mu_);

  /// Tells the sink of transitions. After each call that may have made one.
  void Publish() { outbox_.Deliver(); }

 private:
  /// The one writer of the state: a new generation with nothing counted, and
  /// the event that tells of it. A transition that isn't legal is left out.
  void TransitionToLocked(State to, TransitionReason reason, std::string why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// What is missing from the bucket when state `to` begins.
  std::uint32_t MissingOnEntryLocked(BreakerWord from, State to,
                                     TransitionReason reason) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  /// True when another probe may go beside `in_flight` others.
  bool HasSlotLocked(int in_flight) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  void RecordCallLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordOnWindowLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeSuccessLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordProbeFailureLocked(const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OpenLocked(TransitionReason reason, std::string why,
                  const Report& failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  /// Only where no other thread counts: not CLOSED, or by the window rule.
  void CountOnBudgetLocked(Outcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ResizeBucketLocked(const TokenBucket& before, TripRule rule_before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ShowRulesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  BreakerHotLine& hot_;
  const BreakerKey& key_;
  const Clock& clock_;

  mutable absl::Mutex mu_;
  BreakerRules rules_ ABSL_GUARDED_BY(mu_);
  CountWindow window_ ABSL_GUARDED_BY(mu_);
  HalfOpenRound round_ ABSL_GUARDED_BY(mu_);
  OpenPeriod open_period_ ABSL_GUARDED_BY(mu_);  // reads rules_.open_time
  TimePoint since_ ABSL_GUARDED_BY(mu_);
  // Null: none. Shared, so that it is copied outside the lock.
  std::shared_ptr<const std::string> last_failure_ ABSL_GUARDED_BY(mu_);
  std::vector<TransitionEvent> history_ ABSL_GUARDED_BY(mu_);

  TransitionOutbox outbox_;
};

}  // namespace grpc_resilience::internal

// A circuit breaker: stops sending to a target that keeps failing, and finds
// out carefully when it is back. Usable without gRPC.
//
//   std::optional<Permit> permit = breaker->TryAcquire();
//   if (!permit) return Rejected(breaker->rejection());
//   Status status = Call();
//   permit->Record(status.ok() ? Outcome::kSuccess : Outcome::kFailure);
//
// | in \ event | success         | failure | trip rule | time over         |
// |------------|-----------------|---------|-----------|-------------------|
// | CLOSED     | count           | count   | → OPEN    | –                 |
// | OPEN       | dropped         | dropped | –         | next → HALF_OPEN  |
// | HALF_OPEN  | enough → CLOSED | → OPEN  | → OPEN    | lost slots return |
//
// The trip rule is the token bucket (then HALF_OPEN starts with one token, lets
// as many calls through at once as there are tokens, opens at none and closes
// above half full), or what BreakerPolicy sets (then one failed probe opens, and
// half_open_calls successes close or lead to the ramp). The bucket is the retry
// budget either way; closing by another rule fills it up.
//
// Every transition starts a new generation; a result admitted in an older one
// changes nothing. Reading the state never changes it. Time source: the
// monotonic Clock it was given.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/breaker_hot_line.h"
#include "grpc_resilience/breaker_policy.h"
#include "grpc_resilience/breaker_snapshot.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/permit.h"
#include "grpc_resilience/random.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience {

namespace internal {
class BreakerIdentity;
class BreakerMachine;
struct BreakerContext;
struct Report;
}  // namespace internal

/// This type is safe to use from several threads at once. The closed, healthy
/// path is one atomic load to admit and one to record: no lock, clock or write.
class CircuitBreaker {
 public:
  /// `clock`, `random` and `sink` (may be null) must outlive the breaker. The
  /// policies must be valid (Config::Validate).
  CircuitBreaker(const BreakerKey& key, const BreakerPolicy& policy,
                 const RetryThrottlePolicy& throttle, const Clock& clock,
                 Random& random, TransitionSink* sink);
  /// For BreakerRegistry: breakers of equal settings share a context.
  CircuitBreaker(const BreakerKey& key,
                 std::shared_ptr<const internal::BreakerContext> context);
  ~CircuitBreaker();
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  /// A permit, or empty: rejected. May start a half-open round, unless
  /// `may_probe` is false: then calls are rejected until the state is CLOSED, for
  /// who knows that a probe would say nothing.
  std::optional<Permit> TryAcquire(bool may_probe = true) {
    const std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    internal::Admitted admitted;
    if (ABSL_PREDICT_FALSE((word & internal::kBreakerNotPlain) != 0)) {
      admitted = AdmitOtherwise(may_probe);
      if (admitted.breaker == nullptr) return std::nullopt;
    } else {
      admitted.breaker = this;
      admitted.generation = word & internal::kBreakerGeneration;
      // What the compiler forgets once it has inlined this.
      ABSL_ASSUME(admitted.breaker != nullptr);
    }
    return std::optional<Permit>(std::in_place, internal::PermitKey(),
                                 admitted);
  }

  /// True when TryAcquire would say no right now. Changes and counts nothing.
  bool WouldReject() const;

  /// True while the bucket is more than half full, or retries aren't limited.
  bool RetryAllowed() const;

  /// For the message of a rejected call.
  Rejection rejection() const;

  /// Whatever the mode says.
  State state() const;
  BreakerSnapshot snapshot(SnapshotParts parts = SnapshotParts::kAll) const;
  BreakerKey key() const;

  /// Back to CLOSED with nothing counted, by an operator. The mode stays.
  void Reset();

  /// OPEN: the next call is admitted as a probe, whatever is left of the open
  /// time, but not before OpenFor's is over. Any other state: nothing. For who
  /// learns by other means that the target may be back.
  void MakeProbeReady();

  /// OPEN for `hinted` from now on, or BreakerPolicy::max_hinted_open_duration when
  /// that is shorter; when unset, or in a forced mode, nothing. An OPEN breaker
  /// stays so at least that long. `code` and `message`: of the failure that brought
  /// the hint.
  void OpenFor(Duration hinted, StatusCode code, std::string_view message);

  /// An operator's word; replaces the one before. It holds for `ttl` (range: > 0,
  /// else nothing happens), unset: for good. kAuto ends it and knows no ttl.
  /// Heard of by the sink with `reason`, the operator's name and cause. Results of
  /// calls admitted before are ignored, but those of probes. The end of the time
  /// is applied, and told, by the next call; snapshot() shows it at once. While
  /// BreakerMode::kDisabled it has no effect.
  void ForceMode(OperatorMode mode, std::optional<Duration> ttl,
                 std::string_view reason);

  /// Takes new settings over: the state, what is left of the open time and the
  /// permits in flight stay.
  void Reconfigure(const BreakerPolicy& policy,
                   const RetryThrottlePolicy& throttle);
  void Reconfigure(std::shared_ptr<const internal::BreakerContext> context);
  /// For adapters: the settings in force.
  std::shared_ptr<const internal::BreakerContext> context() const
      ABSL_LOCKS_EXCLUDED(mu());

 private:
  friend class Permit;
  friend class BreakerRegistry;

  internal::Admitted AdmitOtherwise(bool may_probe);
  void RecordOutcome(internal::Report& report);

  /// One of a few that all breakers share, for what happens once or by hand: a
  /// lock of its own would be a tenth of an idle breaker.
  absl::Mutex& mu() const;

  /// Made at the first call.
  internal::BreakerMachine& Machine() ABSL_LOCKS_EXCLUDED(mu());
  internal::BreakerMachine* MachineIfAny() const {
    return machine_.load(std::memory_order_acquire);
  }
  void ShowFlags(const internal::BreakerContext& context);
  /// Nothing would be lost with it: CLOSED in AUTO.
  bool MayBeForgotten(TimePoint now) const;

  internal::BreakerHotLine hot_;
  /// Everything that needs a lock of its own; null until then.
  std::atomic<internal::BreakerMachine*> machine_{nullptr};
  const internal::BreakerIdentity* const identity_;  // owned
  std::shared_ptr<const internal::BreakerContext> context_
      ABSL_GUARDED_BY(mu());
};

inline void Permit::Record(Outcome outcome, StatusCode code,
                           std::string_view message) {
  const internal::Admitted admitted = std::exchange(admitted_, {});
  if (admitted.breaker == nullptr) return;
  // Still its generation, CLOSED, nothing missing from the bucket, AUTO.
  if (ABSL_PREDICT_TRUE(
          outcome == Outcome::kSuccess &&
          admitted.breaker->hot_.word.load(std::memory_order_acquire) ==
              admitted.generation)) {
    return;
  }
  RecordOne(admitted.breaker, admitted.generation, admitted.number,
            admitted.slow_at, outcome, code, message);
}

}  // namespace grpc_resilience

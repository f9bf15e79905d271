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
// | HALF_OPEN  | enough → CLOSED | → OPEN  | –         | lost slots return |
//
// The trip rule is the token bucket (then HALF_OPEN starts with one token, lets
// as many calls through at once as there are tokens, opens at none and closes
// above half full), or the count window once failure_rate_threshold is set
// (then one failed probe opens and half_open_calls successes close). The bucket
// is the retry budget either way; closing by the window rule fills it up.
//
// Every transition starts a new generation; a result admitted in an older one
// changes nothing. Reading the state never changes it. Time source: the
// monotonic Clock it was given.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_resilience/breaker_policy.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/random.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience {

class CircuitBreaker;
namespace internal {
class BreakerMachine;
}  // namespace internal

/// The right to send one attempt. Move-only. Recording consumes it; dropping it
/// gives the slot back as "ignored". Must not outlive its breaker. Not safe for
/// use from several threads at once.
class Permit {
 public:
  Permit(Permit&& other) noexcept;
  Permit& operator=(Permit&& other) noexcept;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  ~Permit();

  /// Reports the result. `code` and `message` describe a failure for
  /// BreakerSnapshot::last_failure. A second call does nothing.
  void Record(Outcome outcome, StatusCode code = StatusCode::UNKNOWN,
              std::string_view message = {});

  /// True when it was given while HALF_OPEN.
  bool is_probe() const { return probe_ != 0; }

 private:
  friend class CircuitBreaker;
  Permit(CircuitBreaker* breaker, std::uint64_t generation, std::uint64_t probe)
      : breaker_(breaker), generation_(generation), probe_(probe) {}

  CircuitBreaker* breaker_;  // null: consumed
  std::uint64_t generation_;
  std::uint64_t probe_;  // number of the probe, 0 for none
};

/// Why and until when calls are rejected. A value type.
struct Rejection {
  /// Until the next probe may go; zero when one is ready but others are under
  /// way.
  Duration retry_after{0};
  /// "UNAVAILABLE: connection refused": the failure that opened the breaker.
  std::string last_failure;
};

/// All there is to see, read in one go. A value type.
struct BreakerSnapshot {
  BreakerKey key;
  State state = State::kClosed;
  std::uint64_t generation = 0;
  /// OPEN and its time is over: the next call is let through as a probe.
  bool probe_ready = false;
  /// OPEN: until then; zero when probe_ready.
  Duration retry_after{0};
  /// Of the last transition; before the first, when the breaker was made.
  TimePoint since;
  /// Outcomes in the window since the last transition; 0 without a window.
  int window_calls = 0;
  int window_failures = 0;
  /// In the bucket.
  double tokens = 0;
  int probes_in_flight = 0;
  int probes_succeeded = 0;
  /// Since the breaker was made.
  std::uint64_t rejected = 0;
  /// The failure that opened the breaker last; empty before, and after Reset.
  std::string last_failure;
  /// The last transitions, oldest first, at most 32.
  std::vector<TransitionEvent> transitions;
};

namespace internal {

/// All that admitting and recording read on a healthy breaker and an open one:
/// one cache line. Written under the breaker's lock, counting aside.
struct alignas(64) BreakerHotLine {
  std::atomic<std::uint64_t> word{0};  ///< core/breaker_word.h
  std::atomic<TimePoint> probe_at{TimePoint()};
  /// Ready early: not before then, and once `rejected` has come this far.
  std::atomic<TimePoint> early_probe_at{TimePoint()};
  std::atomic<std::uint64_t> early_probe_rejected{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint32_t> bucket_size{0};  ///< in thousandths of a token
  std::atomic<std::uint32_t> bucket_per_success{0};
  std::atomic<std::uint32_t> failures_since_full{0};
  std::atomic<bool> limits_retries{true};
};

}  // namespace internal

/// This type is safe to use from several threads at once. The closed, healthy
/// path is one atomic load to admit and one to record: no lock, clock or write.
class CircuitBreaker {
 public:
  /// `clock`, `random` and `sink` (may be null) must outlive the breaker. The
  /// policies must be valid (Config::Validate).
  CircuitBreaker(BreakerKey key, const BreakerPolicy& policy,
                 const RetryThrottlePolicy& throttle, const Clock& clock,
                 Random& random, TransitionSink* sink);
  ~CircuitBreaker();
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  /// A permit, or empty: rejected. May start a half-open round.
  std::optional<Permit> TryAcquire();

  /// True when TryAcquire would say no right now. Changes and counts nothing.
  bool WouldReject() const;

  /// True while the bucket is more than half full, or retries aren't limited.
  bool RetryAllowed() const;

  /// For the message of a rejected call.
  Rejection rejection() const;

  State state() const;
  BreakerSnapshot snapshot() const;
  const BreakerKey& key() const { return key_; }

  /// Back to CLOSED with nothing counted, by an operator.
  void Reset();

  /// Takes new settings over: the state, what is left of the open time and the
  /// permits in flight stay.
  void Reconfigure(const BreakerPolicy& policy,
                   const RetryThrottlePolicy& throttle);

 private:
  friend class Permit;
  void RecordOutcome(std::uint64_t generation, std::uint64_t probe,
                     Outcome outcome, StatusCode code,
                     std::string_view message);

  internal::BreakerHotLine hot_;
  const BreakerKey key_;
  const Clock& clock_;
  /// Everything that needs the lock.
  const std::unique_ptr<internal::BreakerMachine> machine_;
};

}  // namespace grpc_resilience

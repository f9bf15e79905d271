// What a circuit breaker gives to a call that it admits. Include
// circuit_breaker.h to use it.
//
//   std::optional<Permit> permit = breaker->TryAcquire();
//   ...
//   permit->Record(Outcome::kSuccess);

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience {

class CircuitBreaker;
namespace internal {
struct Report;
}  // namespace internal

namespace internal {
/// Only a breaker makes permits.
class PermitKey {
  friend class grpc_resilience::CircuitBreaker;
  PermitKey() = default;
};
}  // namespace internal

/// The right to send one attempt. Move-only. Recording consumes it; dropping it
/// gives the slot back as "ignored". Must not outlive its breaker. Not safe for
/// use from several threads at once.
class Permit {
 public:
  Permit(internal::PermitKey, CircuitBreaker* breaker, std::uint64_t generation,
         std::uint64_t probe = 0, TimePoint slow_at = TimePoint::max())
      : breaker_(breaker),
        generation_(generation),
        probe_(probe),
        slow_at_(slow_at) {}
  inline Permit(Permit&& other) noexcept;
  inline Permit& operator=(Permit&& other) noexcept;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  inline ~Permit();

  /// Reports the result. `code` and `message` describe a failure for
  /// BreakerSnapshot::last_failure. A second call does nothing.
  inline void Record(Outcome outcome, StatusCode code = StatusCode::UNKNOWN,
                     std::string_view message = {});
  /// Reports that there is nothing to count, and why.
  void Ignore(IgnoredCause cause);

  /// When the call becomes slow, if the breaker times calls and it isn't over.
  std::optional<TimePoint> slow_at() const;
  /// Counts the call as slow while it is still under way, so that hung calls
  /// open the breaker before they end; to be called by whoever watches the call
  /// (an adapter's timer, at slow_at, ordered with Record). The result may still
  /// be recorded and is no second outcome. False: nothing was counted, because
  /// it was too early, twice, for a probe, or the breaker has moved on.
  bool MarkSlow();

  /// True when it was given while HALF_OPEN.
  bool is_probe() const { return probe_ != 0; }

 private:
  friend class CircuitBreaker;

  internal::Report ReportOf(Outcome outcome, IgnoredCause cause) const;
  /// What Record does when it isn't a success of a healthy breaker.
  void Settle(CircuitBreaker& breaker, Outcome outcome, StatusCode code,
              std::string_view message);

  CircuitBreaker* breaker_;  // null: consumed
  std::uint64_t generation_;
  std::uint64_t probe_;            // number of the probe, 0 for none
  TimePoint slow_at_;              // max: not timed
  std::uint64_t slow_ticket_ = 0;  // not 0: counted as slow already
};

}  // namespace grpc_resilience

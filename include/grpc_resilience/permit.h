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
#include <utility>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience {

class CircuitBreaker;
namespace internal {

/// In Admitted::number of a call that has been counted as slow already.
inline constexpr std::uint64_t kSlowTicket = std::uint64_t{1} << 63;

/// What a permit holds: little, so that it stays in registers.
struct Admitted {
  CircuitBreaker* breaker = nullptr;  ///< null: rejected, or consumed
  std::uint64_t generation = 0;       ///< where the breaker's word has it
  std::uint64_t number = 0;  ///< of a probe, or a kSlowTicket; 0: neither
  TimePoint slow_at{};       ///< the epoch: not timed
};

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
  Permit(internal::PermitKey, const internal::Admitted& admitted)
      : admitted_(admitted) {}
  Permit(Permit&& other) noexcept
      : admitted_(std::exchange(other.admitted_, {})) {}
  Permit& operator=(Permit&& other) noexcept {
    if (this == &other) return *this;
    Ignore(IgnoredCause::kDropped);
    admitted_ = std::exchange(other.admitted_, {});
    return *this;
  }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  ~Permit() { Ignore(IgnoredCause::kDropped); }

  /// Reports the result. `code` and `message` describe a failure for
  /// BreakerSnapshot::last_failure. A second call does nothing.
  inline void Record(Outcome outcome, StatusCode code = StatusCode::UNKNOWN,
                     std::string_view message = {});
  /// Reports an answer that is no failure of the target, but is retried as one: a
  /// success for the trip rules and for a probe, while the retry budget loses a
  /// token as by a failure. It opens nothing, not even when that was the last one.
  void RecordRetried();
  /// Reports that there is nothing to count, and why.
  void Ignore(IgnoredCause cause) {
    const internal::Admitted admitted = std::exchange(admitted_, {});
    if (admitted.breaker == nullptr) return;
    IgnoreOne(admitted.breaker, admitted.generation, admitted.number,
              admitted.slow_at, cause);
  }

  /// When the call becomes slow, if the breaker times calls and it isn't over.
  std::optional<TimePoint> slow_at() const {
    if (admitted_.slow_at == TimePoint()) return std::nullopt;
    return admitted_.slow_at;
  }
  /// Counts the call as slow while it is still under way, so that hung calls
  /// open the breaker before they end; to be called by whoever watches the call
  /// (an adapter's timer, at slow_at, ordered with Record). The result may still
  /// be recorded and is no second outcome. False: nothing was counted, because
  /// it was too early, twice, for a probe, or the breaker has moved on.
  bool MarkSlow();

  /// From now on the attempt's time isn't looked at: a stream is as slow as its
  /// first message. What was marked slow stays so.
  void StopTiming() { admitted_.slow_at = TimePoint::max(); }

  /// True when it was given while HALF_OPEN.
  bool is_probe() const { return admitted_.number != 0 && !is_counted_slow(); }

 private:
  bool is_counted_slow() const {
    return (admitted_.number & internal::kSlowTicket) != 0;
  }

  // What isn't a success of a healthy breaker. Field by field: with its address
  // taken, a permit could not stay in registers.
  static void RecordOne(CircuitBreaker* breaker, std::uint64_t generation,
                        std::uint64_t number, TimePoint slow_at,
                        Outcome outcome, StatusCode code,
                        std::string_view message);
  static void IgnoreOne(CircuitBreaker* breaker, std::uint64_t generation,
                        std::uint64_t number, TimePoint slow_at,
                        IgnoredCause cause);

  internal::Admitted admitted_;
};

}  // namespace grpc_resilience

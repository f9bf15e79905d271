// How long a breaker stays open, and when it is ready for a probe.

#pragma once

#include <cstdint>
#include <string>

#include "grpc_resilience/backoff.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/random.h"

namespace grpc_resilience::internal {

// For an open breaker, by what its hot line shows; need no lock.

/// The next call is let through as a probe.
bool ProbeReady(const BreakerHotLine& hot, TimePoint now);
/// Zero when ProbeReady.
Duration TimeUntilProbe(const BreakerHotLine& hot, TimePoint now);

/// Writes those times; the period grows with each one that follows another
/// without Restart between. Not safe for use from several threads at once.
class OpenPeriod {
 public:
  /// All references must outlive it; `lengths` may change meanwhile.
  OpenPeriod(BreakerHotLine& hot, const BackoffPolicy& lengths, Random& random)
      : hot_(hot), random_(random), lengths_(lengths) {}

  /// Begins a period at `now`; 0 `early_after_rejections`: no early probe.
  void Start(TimePoint now, int early_after_rejections);
  /// The next period is the shortest again.
  void Restart() { lengths_.Restart(); }
  /// Why ProbeReady is true: "15 s passed", "100 calls rejected".
  std::string Why(TimePoint now) const;

 private:
  BreakerHotLine& hot_;
  Random& random_;
  Backoff lengths_;
  Duration length_{0};
  std::uint64_t rejected_before_ = 0;
};

}  // namespace grpc_resilience::internal

// How long a breaker stays open, and when it is ready for a probe.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "grpc_resilience/backoff.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/random.h"

namespace grpc_resilience::internal {

/// All that rejecting reads and writes, in one cache line of its own. Written
/// under the breaker's lock, counting aside.
struct alignas(64) OpenLine {
  std::atomic<TimePoint> probe_at{TimePoint()};
  /// Ready early: not before then, and once `rejected` has come this far.
  std::atomic<TimePoint> early_probe_at{TimePoint()};
  std::atomic<std::uint64_t> early_probe_rejected{0};
  std::atomic<std::uint64_t> rejected{0};
};

// For an open breaker; need no lock.

/// The next call is let through as a probe.
bool ProbeReady(const OpenLine& line, TimePoint now);
/// False when the next call is rejected for certain; by Clock::CoarseNow, which
/// costs less.
bool MayBeReadySoon(const OpenLine& line, TimePoint coarse_now);
/// Zero when ProbeReady.
Duration TimeUntilProbe(const OpenLine& line, TimePoint now);

/// Writes those times. The period grows with each one that follows another
/// without a healthy spell between. Not safe for use from several threads at
/// once.
class OpenPeriod {
 public:
  /// The references must outlive it.
  OpenPeriod(OpenLine& line, Random& random)
      : line_(line), random_(random), lengths_(policy_) {}
  OpenPeriod(const OpenPeriod&) = delete;
  OpenPeriod& operator=(const OpenPeriod&) = delete;

  /// Takes new settings over for the periods to come; growth stays.
  void Configure(const BackoffPolicy& policy,
                 std::optional<Duration> reset_after,
                 int early_after_rejections);

  /// Begins a period at `now`.
  void Start(TimePoint now);
  /// The period lasts until `until` at least, whatever would cut it short.
  void HoldUntil(TimePoint now, TimePoint until);
  /// The breaker has closed.
  void Closed(TimePoint now) { closed_at_ = now; }
  /// The next period is the shortest again.
  void Restart() { lengths_.Restart(); }
  /// The next call is let through as a probe, whatever is left of the period;
  /// but not before HoldUntil's time.
  void MakeReady();

  /// Why ProbeReady is true: "15 s passed", "100 calls rejected".
  std::string Why(TimePoint now) const;

 private:
  OpenLine& line_;
  Random& random_;
  BackoffPolicy policy_;
  Backoff lengths_;  // reads policy_
  std::optional<Duration> reset_after_;
  int early_after_rejections_ = 0;
  Duration length_{0};
  std::optional<TimePoint> closed_at_;  // unset while not closed since Start
  TimePoint held_until_ = TimePoint::min();  // min(): not held
  std::uint64_t rejected_before_ = 0;
  bool made_ready_ = false;
};

}  // namespace grpc_resilience::internal

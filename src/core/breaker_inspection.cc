// Looking at a breaker, which changes nothing.

#include "core/breaker_machine.h"
#include "core/closed_bucket.h"

namespace grpc_resilience::internal {

Rejection BreakerMachine::rejection(TimePoint now) const {
  Rejection rejection;
  std::shared_ptr<const std::string> last_failure;
  {
    absl::MutexLock lock(&mu_);
    last_failure = last_failure_;
    if (mode_.At(now) == OperatorMode::kForcedOpen) {
      rejection.forced_open = true;
      rejection.forced_reason = mode_.reason;
      if (mode_.until) rejection.retry_after = *mode_.until - now;
    } else if (LoadWord(hot_).state() == State::kOpen) {
      rejection.retry_after = TimeUntilProbe(open_line_, now);
    }
  }
  if (last_failure != nullptr) rejection.last_failure = *last_failure;
  return rejection;
}

OperatorMode BreakerMachine::ModeAt(TimePoint now) const {
  absl::MutexLock lock(&mu_);
  return mode_.At(now);
}

BreakerSnapshot BreakerMachine::snapshot(TimePoint now,
                                         SnapshotParts parts) const {
  BreakerSnapshot snapshot;
  snapshot.key = identity_.key();
  for (std::size_t i = 0; i < kIgnoredCauses; ++i) {
    snapshot.ignored.by_cause[i] = ignored_[i].load(std::memory_order_relaxed);
  }
  absl::MutexLock lock(&mu_);
  const BreakerWord word = LoadWord(hot_);
  snapshot.state = word.state();
  snapshot.generation = word.generation();
  if (word.state() == State::kOpen) {
    snapshot.probe_ready = ProbeReady(open_line_, now);
    snapshot.retry_after = TimeUntilProbe(open_line_, now);
  }
  snapshot.since = since_;
  snapshot.mode = mode_.At(now);
  if (snapshot.mode != OperatorMode::kAuto) {
    snapshot.mode_reason = mode_.reason;
    if (mode_.until) snapshot.mode_ends_in = *mode_.until - now;
  }
  snapshot.shadow = shadow_;
  TakePendingLocked(now);
  const WindowTotals totals = trip_.Totals(now, rules());
  snapshot.window_calls = static_cast<int>(totals.calls);
  snapshot.window_failures = static_cast<int>(totals.failures);
  snapshot.window_slow = static_cast<int>(totals.slow);
  if (totals.calls > 0) {
    snapshot.failure_rate = totals.failure_rate();
    snapshot.slow_call_rate = totals.slow_rate();
  }
  if (rules().consecutive_failures > 0) {
    snapshot.consecutive_failures = trip_.failures_in_row();
  }
  snapshot.tokens = rules().bucket.Tokens(word.missing());
  snapshot.probes_in_flight =
      round_.InFlightAfterDrop(now, rules().half_open_max_wait);
  snapshot.probes_succeeded = round_.succeeded();
  if (ramp_.active()) {
    snapshot.ramp_share = ramp_.ShareAt(now, rules()).value_or(1000) / 1000.0;
  }
  snapshot.rejected = open_line_.rejected.load(std::memory_order_relaxed);
  if (last_failure_ != nullptr) snapshot.last_failure = *last_failure_;
  if (parts == SnapshotParts::kAll) snapshot.transitions = history_;
  return snapshot;
}

}  // namespace grpc_resilience::internal

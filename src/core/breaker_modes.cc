// What an operator's mode does to a breaker, where it begins and ends.

#include <cstdint>
#include <optional>
#include <utility>

#include "core/breaker_machine.h"
#include "core/closed_bucket.h"
#include "core/transition_text.h"

namespace grpc_resilience::internal {

void BreakerMachine::ForceMode(OperatorMode mode, std::optional<Duration> ttl,
                               std::string_view reason) {
  const TimePoint now = clock_.Now();
  absl::MutexLock lock(&mu_);
  EndModeLocked(now);
  if (mode == OperatorMode::kAuto) {
    if (mode_.mode == OperatorMode::kAuto) return;
    ttl.reset();
  }
  ModeOverride forced{mode, std::nullopt, std::string(reason)};
  if (ttl) forced.until = SaturatingAdd(now, *ttl);
  SetModeLocked(std::move(forced), TransitionReason::kModeForced,
                ModeForcedText(mode, ttl, reason), now);
}

void BreakerMachine::EndModeLocked(TimePoint now) {
  if (!mode_.OverAt(now)) return;
  SetModeLocked(ModeOverride(), TransitionReason::kModeOver,
                ModeOverText(mode_.mode), now);
}

void BreakerMachine::SetModeLocked(ModeOverride mode, TransitionReason reason,
                                   std::string why, TimePoint now) {
  const bool anew = mode_.mode == OperatorMode::kForcedClosed &&
                    mode.mode != OperatorMode::kForcedClosed;
  mode_ = std::move(mode);
  const CountingPath path = PathLocked();
  const std::optional<std::uint32_t> missing =
      anew ? MissingAfterForcedClosedLocked() : std::nullopt;
  const BreakerWord word = ChangeWord(hot_, [&](BreakerWord w) {
    return BreakerWord(w.state(), path, missing.value_or(w.missing()),
                       w.generation() + 1);
  });
  TakePendingLocked(now);
  if (anew && word.state() == State::kClosed) {
    trip_.Clear();
    in_row_.store(false, std::memory_order_relaxed);
  }
  TransitionEvent event;
  event.from = word.state();
  event.to = word.state();
  event.reason = reason;
  event.why = std::move(why);
  event.generation = word.generation();
  event.at = now;
  KeepEventLocked(std::move(event));
}

// What was counted while it could open nothing mustn't decide now.
std::optional<std::uint32_t> BreakerMachine::MissingAfterForcedClosedLocked()
    const {
  const State state = LoadWord(hot_).state();
  if (state == State::kClosed) return 0;
  if (state == State::kHalfOpen && rules().BucketAlone()) {
    return rules().bucket.MissingWithOneToken();
  }
  return std::nullopt;
}

}  // namespace grpc_resilience::internal

#include "core/breaker_machine.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/closed_bucket.h"
#include "core/legal_transitions.h"
#include "core/transition_text.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kHistoryLength = 32;

void StoreWord(BreakerHotLine& hot, BreakerWord word) {
  hot.word.store(word.bits(), std::memory_order_release);
}

}  // namespace

BreakerMachine::BreakerMachine(const BreakerIdentity& identity,
                               BreakerHotLine& hot,
                               std::shared_ptr<const BreakerContext> context)
    : hot_(hot),
      identity_(identity),
      clock_(context->clock),
      context_(std::move(context)),
      trip_(context_->rules),
      open_period_(open_line_, context_->random),
      since_(identity.made_at()),
      outbox_(context_->sink) {
  absl::MutexLock lock(&mu_);
  ConfigureLocked();
}

CountingPath BreakerMachine::PathLocked() const {
  if (!rules().enabled) return CountingPath::kDisabled;
  return mode_.mode == OperatorMode::kAuto ? rules().Path()
                                           : CountingPath::kForced;
}

std::optional<Admission> BreakerMachine::Admit(TimePoint now) {
  absl::MutexLock lock(&mu_);
  if (!rules().enabled) return Admission{};
  EndModeLocked(now);
  if (mode_.mode == OperatorMode::kForcedClosed) {
    return Admission{LoadWord(hot_).generation(), 0};
  }
  std::optional<Admission> admission;
  if (mode_.mode != OperatorMode::kForcedOpen) {
    admission = AdmitByStateLocked(now);
  }
  if (!admission && mode_.mode == OperatorMode::kShadow) {
    ++shadow_.would_have_rejected;
    return Admission{kShadowGeneration, 0};
  }
  if (!admission) open_line_.rejected.fetch_add(1, std::memory_order_relaxed);
  return admission;
}

std::optional<Admission> BreakerMachine::AdmitByStateLocked(TimePoint now) {
  if (LoadWord(hot_).state() == State::kOpen && ProbeReady(open_line_, now)) {
    TransitionToLocked(State::kHalfOpen, TransitionReason::kOpenTimeOver,
                       open_period_.Why(now));
  }
  if (ramp_.active() && ramp_.OverAt(now, rules())) {
    TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                       ProbesSucceededText(round_.succeeded()));
  }
  const BreakerWord word = LoadWord(hot_);
  if (word.state() == State::kClosed) return Admission{word.generation(), 0};
  if (word.state() == State::kOpen) return std::nullopt;
  round_.DropLost(now, rules().half_open_max_wait);
  const bool admitted = ramp_.active() ? ramp_.Admit(now, rules())
                                       : HasSlotLocked(round_.in_flight());
  if (!admitted) return std::nullopt;
  return Admission{word.generation(), round_.Admit(now)};
}

bool BreakerMachine::WouldAdmit(TimePoint now) const {
  absl::MutexLock lock(&mu_);
  const BreakerWord word = LoadWord(hot_);
  const OperatorMode mode = mode_.At(now);
  if (!rules().enabled || mode == OperatorMode::kForcedClosed ||
      mode == OperatorMode::kShadow) {
    return true;
  }
  if (mode == OperatorMode::kForcedOpen) return false;
  if (word.state() == State::kClosed) return true;
  if (word.state() == State::kOpen) return ProbeReady(open_line_, now);
  if (ramp_.active()) {
    return ramp_.OverAt(now, rules()) || ramp_.WouldAdmit(now, rules());
  }
  return HasSlotLocked(
      round_.InFlightAfterDrop(now, rules().half_open_max_wait));
}

bool BreakerMachine::HasSlotLocked(int in_flight) const {
  if (rules().BucketAlone()) {
    // Without a probe under way nothing else would ever give the verdict; and
    // after FORCED_CLOSED the bucket may not be what it will be.
    const auto tokens = rules().bucket.WholeTokens(LoadWord(hot_).missing());
    return in_flight == 0 || in_flight < static_cast<int>(tokens);
  }
  return in_flight < rules().half_open_max_in_flight &&
         in_flight + round_.succeeded() < rules().half_open_calls;
}

void BreakerMachine::Reset() {
  absl::MutexLock lock(&mu_);
  last_failure_ = nullptr;
  open_period_.Restart();
  if (LoadWord(hot_).state() != State::kClosed) {
    TransitionToLocked(State::kClosed, TransitionReason::kReset, "reset");
    return;
  }
  TakePendingLocked(std::nullopt);
  trip_.Clear();
  in_row_.store(false, std::memory_order_relaxed);
  hot_.failures_since_full.store(0, std::memory_order_relaxed);
  ChangeWord(hot_, [](BreakerWord word) { return word.WithMissing(0); });
}

void BreakerMachine::MakeProbeReady() {
  absl::MutexLock lock(&mu_);
  if (LoadWord(hot_).state() == State::kOpen) open_period_.MakeReady();
}

void BreakerMachine::OpenFor(Duration hinted, StatusCode code,
                             std::string_view message) {
  absl::MutexLock lock(&mu_);
  const Duration length = std::min(hinted, rules().max_hinted_open);
  if (!rules().enabled || length <= Duration::zero()) return;
  const TimePoint now = clock_.Now();
  EndModeLocked(now);
  if (mode_.mode == OperatorMode::kForcedOpen ||
      mode_.mode == OperatorMode::kForcedClosed) {
    return;
  }
  if (LoadWord(hot_).state() != State::kOpen) {
    OpenLocked(TransitionReason::kServerHint, ServerHintText(length),
               FailureText(code, message));
  }
  open_period_.HoldUntil(now, SaturatingAdd(now, length));
}

void BreakerMachine::Reconfigure(
    std::shared_ptr<const BreakerContext> context) {
  absl::MutexLock lock(&mu_);
  TakePendingLocked(std::nullopt);
  const std::shared_ptr<const BreakerContext> before =
      std::exchange(context_, std::move(context));
  trip_.Reconfigure(before->rules, rules());
  ConfigureLocked();
  ResizeBucket(hot_, rules().bucket, PathLocked());
  const BreakerWord word = LoadWord(hot_);
  if (word.state() == State::kClosed && rules().trips_on_empty_bucket &&
      !before->rules.trips_on_empty_bucket) {
    // An empty bucket was no reason to open before; now it would be one that
    // no failure has brought about.
    const std::uint32_t one_token = rules().bucket.MissingWithOneToken();
    ChangeWord(hot_, [one_token](BreakerWord w) {
      return w.WithMissing(std::min(w.missing(), one_token));
    });
  }
  if (word.state() != State::kHalfOpen) return;
  if (rules().BucketAlone()) {
    // Never without a whole token, or no probe could give the verdict; and a
    // slow start when the bucket didn't decide before.
    const std::uint32_t one_token = rules().bucket.MissingWithOneToken();
    StoreWord(hot_, word.WithMissing(before->rules.BucketAlone()
                                         ? std::min(word.missing(), one_token)
                                         : one_token));
    ramp_.Stop();
  } else if (!ramp_.active() && round_.succeeded() >= rules().half_open_calls) {
    // Fewer successes may be asked for than there are: then no probe would
    // follow that could give the verdict.
    PassRoundLocked();
  }
}

void BreakerMachine::ConfigureLocked() {
  open_period_.Configure(rules().open_time, rules().open_time_reset_after,
                         rules().early_probe_after_rejections);
  slow_call_duration_.store(rules().slow_call_duration,
                            std::memory_order_relaxed);
  bucket_length_.store(trip_.BucketLength(rules()), std::memory_order_relaxed);
  in_row_.store(trip_.failures_in_row() > 0, std::memory_order_relaxed);
  // Without a period that is, until the next outcome says what time it is.
  TakePendingLocked(std::nullopt);
}

void BreakerMachine::TransitionToLocked(State to, TransitionReason reason,
                                        std::string why) {
  const BreakerWord from = LoadWord(hot_);
  if (!IsLegal(from.state(), to, reason)) return;
  const TimePoint now = clock_.Now();
  TransitionEvent event;
  event.from = from.state();
  event.to = to;
  event.reason = reason;
  event.why = std::move(why);
  event.generation = from.generation() + 1;
  event.at = now;
  since_ = now;
  trip_.Clear();
  in_row_.store(false, std::memory_order_relaxed);
  round_.Start();
  ramp_.Stop();
  hot_.failures_since_full.store(0, std::memory_order_relaxed);
  if (to == State::kClosed) open_period_.Closed(now);
  if (to == State::kOpen) open_period_.Start(now);
  // Last, with release: who sees the new state sees what belongs to it.
  StoreWord(hot_,
            BreakerWord(to, from.path(), MissingOnEntryLocked(from, to, reason),
                        event.generation));
  // What is pending belongs to the generation before.
  pending_.TakeAndClose();
  TakePendingLocked(std::nullopt);
  KeepEventLocked(std::move(event));
}

std::uint32_t BreakerMachine::MissingOnEntryLocked(
    BreakerWord from, State to, TransitionReason reason) const {
  if (reason == TransitionReason::kReset) return 0;
  const bool by_bucket = rules().BucketAlone();
  switch (to) {
    case State::kClosed:
      return by_bucket ? from.missing() : 0;
    case State::kOpen:
      return by_bucket ? rules().bucket.size : from.missing();
    case State::kHalfOpen:
      return by_bucket ? rules().bucket.MissingWithOneToken() : from.missing();
  }
  return from.missing();
}

void BreakerMachine::OpenLocked(TransitionReason reason, std::string why,
                                std::string last_failure) {
  last_failure_ = std::make_shared<const std::string>(std::move(last_failure));
  TransitionToLocked(State::kOpen, reason, std::move(why));
}

void BreakerMachine::PassRoundLocked() {
  if (!rules().ramp_permille.empty()) {
    ramp_.Start(clock_.Now());
    return;
  }
  TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                     ProbesSucceededText(round_.succeeded()));
}

void BreakerMachine::KeepEventLocked(TransitionEvent event) {
  // Who gave the time may have read it before others took the lock.
  if (!history_.empty()) event.at = std::max(event.at, history_.back().at);
  event.key = identity_.key();
  event.mode = mode_.mode;
  history_.push_back(std::move(event));
  outbox_.Push(history_.back());
  if (history_.size() > kHistoryLength) history_.erase(history_.begin());
}

}  // namespace grpc_resilience::internal

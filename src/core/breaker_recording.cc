// What a breaker makes of a result, where it needs the lock.

#include <utility>

#include "core/breaker_machine.h"
#include "core/closed_bucket.h"
#include "core/transition_text.h"

namespace grpc_resilience::internal {

void BreakerMachine::CountIgnored(IgnoredCause cause) {
  ignored_[static_cast<std::size_t>(cause)].fetch_add(
      1, std::memory_order_relaxed);
}

TimePoint BreakerMachine::SlowAt(TimePoint now) const {
  const Duration limit = slow_call_duration_.load(std::memory_order_relaxed);
  return limit > Duration::zero() ? SaturatingAdd(now, limit) : TimePoint();
}

void BreakerMachine::Record(const Report& report) {
  absl::MutexLock lock(&mu_);
  if (mode_.until) EndModeLocked(clock_.Now());
  if (report.admission.generation == kShadowGeneration) {
    RecordShadowLocked(report);
  } else if (report.admission.probe != 0) {
    RecordProbeLocked(report);
  } else {
    RecordCallLocked(report);
  }
}

bool BreakerMachine::RecordSuccessQuickly(const Report& report) {
  const BreakerWord word = LoadWord(hot_);
  if (report.slow_ticket != 0 || word.path() != CountingPath::kLocked ||
      word.state() != State::kClosed ||
      word.generation() != report.admission.generation ||
      in_row_.load(std::memory_order_acquire)) {
    return false;
  }
  const Duration bucket_length = bucket_length_.load(std::memory_order_relaxed);
  const bool timed = report.slow_at != TimePoint::max();
  std::int64_t period = 0;
  if (timed || bucket_length > Duration::zero()) {
    const TimePoint now = clock_.Now();
    if (now >= report.slow_at) return false;
    if (bucket_length > Duration::zero()) {
      period = TimeWindow::PeriodOf(now, bucket_length);
    }
  }
  if (!pending_.Add(word.generation(), period)) return false;
  RefillBucket(hot_, word.generation());
  return true;
}

void BreakerMachine::TakePendingLocked(std::optional<TimePoint> now) const {
  const Duration bucket_length = trip_.BucketLength(rules());
  const std::uint64_t generation = LoadWord(hot_).generation();
  std::int64_t period = 0;
  std::int64_t count = 0;
  if (bucket_length <= Duration::zero()) {
    count = pending_.Take(generation, 0);
  } else if (now) {
    period = TimeWindow::PeriodOf(*now, bucket_length);
    count = pending_.Take(generation, period);
  } else {
    count = pending_.TakeAndClose();
  }
  trip_.AddSuccesses(pending_period_, count, rules());
  pending_period_ = period;
}

void BreakerMachine::RecordShadowLocked(const Report& report) {
  if (report.outcome == Outcome::kSuccess) ++shadow_.then_succeeded;
  if (report.outcome == Outcome::kIgnored) CountIgnored(report.cause);
}

void BreakerMachine::RecordCallLocked(const Report& report) {
  const BreakerWord word = LoadWord(hot_);
  if (word.path() == CountingPath::kDisabled ||
      word.generation() != report.admission.generation) {
    return CountIgnored(IgnoredCause::kStale);
  }
  if (report.outcome == Outcome::kIgnored) return CountIgnored(report.cause);
  if (mode_.mode == OperatorMode::kForcedClosed) {
    return CountOnBudgetLocked(report.takes_token());
  }
  if (word.state() != State::kClosed) {
    return CountIgnored(IgnoredCause::kStale);
  }
  if (word.path() != CountingPath::kBucket) return RecordByRulesLocked(report);
  if (report.emptied_bucket) {
    if (rules().bucket.IsEmpty(word.missing())) OpenByBucketLocked(report, 0);
    return;
  }
  switch (CountOnBucket(hot_, report.admission.generation, report.outcome,
                        report.takes_token())) {
    case BucketResult::kWouldTrip:
      return OpenByBucketLocked(report, 1);
    case BucketResult::kEmptied:
      return OpenByBucketLocked(report, 0);
    case BucketResult::kCounted:
    case BucketResult::kStale:
    case BucketResult::kNotAlone:
      return;
  }
}

void BreakerMachine::RecordByRulesLocked(const Report& report) {
  const TimePoint now = NowForLocked(report);
  const bool slow = report.slow_ticket == 0 && now >= report.slow_at;
  if (auto why = CountLocked(report, slow, now)) {
    OpenLocked(TransitionReason::kTripRule, *std::move(why),
               FailureTextLocked(report));
  }
}

std::optional<std::string> BreakerMachine::CountLocked(const Report& report,
                                                       bool slow,
                                                       TimePoint now) {
  const bool failed = report.outcome == Outcome::kFailure;
  TakePendingLocked(now);
  CountOnBudgetLocked(report.takes_token());
  const Sample sample{failed, slow,
                      report.code != StatusCode::RESOURCE_EXHAUSTED};
  if (!rules().HasRuleBesideBucket()) {
    // As by CountingPath::kBucket, which knows of nothing else.
  } else if (report.slow_ticket == 0) {
    trip_.Count(sample, now, rules());
  } else if (failed) {
    trip_.MarkFailed(report.slow_ticket, sample, now, rules());
  } else {
    trip_.MarkSucceeded();
  }
  in_row_.store(trip_.failures_in_row() > 0, std::memory_order_release);
  if (!failed && !slow) return std::nullopt;  // only a bad outcome may open
  if (failed && rules().trips_on_empty_bucket &&
      rules().bucket.IsEmpty(LoadWord(hot_).missing())) {
    return BucketEmptyText(
        hot_.failures_since_full.load(std::memory_order_relaxed));
  }
  return trip_.Met(now, rules());
}

TimePoint BreakerMachine::NowForLocked(const Report& report) const {
  const bool timed = report.slow_at != TimePoint::max();
  return timed || rules().ReadsClock() ? clock_.Now() : TimePoint();
}

void BreakerMachine::OpenByBucketLocked(const Report& report,
                                        std::uint32_t uncounted) {
  const std::uint32_t counted =
      hot_.failures_since_full.load(std::memory_order_relaxed);
  OpenLocked(TransitionReason::kTripRule, BucketEmptyText(counted + uncounted),
             FailureTextLocked(report));
}

std::uint64_t BreakerMachine::MarkSlow(const Report& report) {
  absl::MutexLock lock(&mu_);
  const TimePoint now = clock_.Now();
  EndModeLocked(now);
  if (now < report.slow_at || !rules().enabled || !rules().TimesCalls()) {
    return 0;
  }
  const BreakerWord word = LoadWord(hot_);
  if (word.state() != State::kClosed ||
      word.generation() != report.admission.generation ||
      mode_.mode == OperatorMode::kForcedClosed) {
    return 0;
  }
  TakePendingLocked(now);
  // Whether it fails is for its end to say; until then it ends no row.
  const std::uint64_t ticket = trip_.CountSlow(now, rules());
  if (auto why = trip_.Met(now, rules())) {
    OpenLocked(TransitionReason::kTripRule, *std::move(why),
               SlowCallText(rules().slow_call_duration));
  }
  return ticket;
}

void BreakerMachine::RecordProbeLocked(const Report& report) {
  round_.DropLost(clock_.Now(), rules().half_open_max_wait);
  if (!round_.Finish(report.admission.probe)) {
    return CountIgnored(IgnoredCause::kStale);
  }
  if (report.outcome == Outcome::kIgnored) return CountIgnored(report.cause);
  if (!rules().enabled || mode_.mode == OperatorMode::kForcedOpen ||
      mode_.mode == OperatorMode::kForcedClosed) {
    return CountIgnored(IgnoredCause::kStale);
  }
  if (ramp_.active()) return RecordRampedLocked(report);
  // A breaker that opened because calls were slow mustn't close on a slow one.
  const bool slow = rules().slow_call_rate_threshold > 0 &&
                    NowForLocked(report) >= report.slow_at;
  // The bucket may have to give the verdict, in which a retry has no say.
  CountOnBudgetLocked(report.outcome == Outcome::kFailure);
  if (report.outcome == Outcome::kSuccess && !slow) {
    RecordProbeSuccessLocked();
  } else {
    RecordProbeFailureLocked(FailureTextLocked(report));
  }
}

void BreakerMachine::RecordProbeSuccessLocked() {
  round_.AddSuccess();
  if (rules().BucketAlone()) {
    if (rules().bucket.MoreThanHalfFull(LoadWord(hot_).missing())) {
      TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                         "bucket more than half full");
    }
  } else if (round_.succeeded() >= rules().half_open_calls) {
    PassRoundLocked();
  }
}

void BreakerMachine::RecordProbeFailureLocked(std::string last_failure) {
  // A fraction of a token lets no probe through, so it counts as empty.
  if (rules().BucketAlone() &&
      rules().bucket.WholeTokens(LoadWord(hot_).missing()) > 0) {
    return;
  }
  OpenLocked(TransitionReason::kProbeFailed, "probe failed",
             std::move(last_failure));
}

void BreakerMachine::RecordRampedLocked(const Report& report) {
  const TimePoint now = clock_.Now();
  const bool slow = now >= report.slow_at;
  const bool failed = report.outcome == Outcome::kFailure;
  const bool first = !ramp_.HasSucceededAt(now, rules());
  const std::optional<int> share = ramp_.ShareAt(now, rules());
  const std::optional<std::string> why = CountLocked(report, slow, now);
  if (!failed && !slow) return ramp_.NoteSuccess(now, rules());
  if (why) {
    OpenLocked(TransitionReason::kTripRule, *why, FailureTextLocked(report));
  } else if (failed && first && share) {
    OpenLocked(TransitionReason::kProbeFailed, RampFailedText(*share),
               FailureTextLocked(report));
  }
}

void BreakerMachine::CountOnBudgetLocked(bool takes_token) {
  const TokenBucket& bucket = rules().bucket;
  // Successes may be counted without the lock meanwhile.
  const std::uint32_t missing =
      ChangeWord(hot_, [&](BreakerWord w) {
        return w.WithMissing(takes_token ? bucket.AfterFailure(w.missing())
                                         : bucket.AfterSuccess(w.missing()));
      }).missing();
  if (takes_token) {
    hot_.failures_since_full.store(
        hot_.failures_since_full.load(std::memory_order_relaxed) + 1,
        std::memory_order_relaxed);
  } else if (missing == 0) {
    hot_.failures_since_full.store(0, std::memory_order_relaxed);
  }
}

std::string BreakerMachine::FailureTextLocked(const Report& report) const {
  return report.outcome == Outcome::kFailure
             ? FailureText(report.code, report.message)
             : SlowCallText(rules().slow_call_duration);
}

}  // namespace grpc_resilience::internal

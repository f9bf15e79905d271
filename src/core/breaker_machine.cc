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

void CountRejection(BreakerHotLine& hot) {
  hot.rejected.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

BreakerMachine::BreakerMachine(const BreakerKey& key, BreakerHotLine& hot,
                               const BreakerRules& rules, const Clock& clock,
                               Random& random, TransitionSink* sink)
    : hot_(hot),
      key_(key),
      clock_(clock),
      rules_(rules),
      window_(rules.window_calls),
      open_period_(hot, rules_.open_time, random),
      since_(clock.Now()),
      outbox_(sink) {
  absl::MutexLock lock(&mu_);
  ShowRulesLocked();
  StoreWord(hot_, BreakerWord(State::kClosed, rules_.trip_rule, 0, 0));
}

std::optional<Admission> BreakerMachine::Admit(TimePoint now) {
  absl::MutexLock lock(&mu_);
  if (!LoadWord(hot_).enabled()) return Admission{};
  if (LoadWord(hot_).state() == State::kOpen && ProbeReady(hot_, now)) {
    TransitionToLocked(State::kHalfOpen, TransitionReason::kOpenTimeOver,
                       open_period_.Why(now));
  }
  const BreakerWord word = LoadWord(hot_);
  if (word.state() == State::kClosed) return Admission{word.generation(), 0};
  if (word.state() == State::kHalfOpen) {
    round_.DropLost(now, rules_.half_open_max_wait);
    if (HasSlotLocked(round_.in_flight())) {
      return Admission{word.generation(), round_.Admit(now)};
    }
  }
  CountRejection(hot_);
  return std::nullopt;
}

bool BreakerMachine::WouldAdmit(TimePoint now) const {
  absl::MutexLock lock(&mu_);
  const BreakerWord word = LoadWord(hot_);
  if (!word.enabled() || word.state() == State::kClosed) return true;
  if (word.state() == State::kOpen) return ProbeReady(hot_, now);
  return HasSlotLocked(
      round_.InFlightAfterDrop(now, rules_.half_open_max_wait));
}

void BreakerMachine::Record(const Report& report) {
  absl::MutexLock lock(&mu_);
  if (report.admission.probe != 0) {
    RecordProbeLocked(report);
  } else {
    RecordCallLocked(report);
  }
}

void BreakerMachine::Reset() {
  absl::MutexLock lock(&mu_);
  last_failure_ = nullptr;
  if (LoadWord(hot_).state() != State::kClosed) {
    TransitionToLocked(State::kClosed, TransitionReason::kReset, "reset");
    return;
  }
  window_.Clear();
  hot_.failures_since_full.store(0, std::memory_order_relaxed);
  StoreWord(hot_, LoadWord(hot_).WithMissing(0));
}

void BreakerMachine::Reconfigure(const BreakerRules& rules) {
  absl::MutexLock lock(&mu_);
  const TokenBucket bucket_before = rules_.bucket;
  const TripRule rule_before = rules_.trip_rule;
  rules_ = rules;
  window_.Resize(rules_.window_calls);
  ShowRulesLocked();
  ResizeBucketLocked(bucket_before, rule_before);
  // Fewer successes may be asked for than there are: then no probe would follow
  // that could give the verdict.
  if (rules_.trip_rule == TripRule::kCountWindow &&
      LoadWord(hot_).state() == State::kHalfOpen &&
      round_.succeeded() >= rules_.half_open_calls) {
    TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                       ProbesSucceededText(round_.succeeded()));
  }
}

Rejection BreakerMachine::rejection(TimePoint now) const {
  Rejection rejection;
  std::shared_ptr<const std::string> last_failure;
  {
    absl::MutexLock lock(&mu_);
    last_failure = last_failure_;
    if (LoadWord(hot_).state() == State::kOpen) {
      rejection.retry_after = TimeUntilProbe(hot_, now);
    }
  }
  if (last_failure != nullptr) rejection.last_failure = *last_failure;
  return rejection;
}

BreakerSnapshot BreakerMachine::snapshot(TimePoint now) const {
  BreakerSnapshot snapshot;
  snapshot.key = key_;
  absl::MutexLock lock(&mu_);
  const BreakerWord word = LoadWord(hot_);
  snapshot.state = word.state();
  snapshot.generation = word.generation();
  if (word.state() == State::kOpen) {
    snapshot.probe_ready = ProbeReady(hot_, now);
    snapshot.retry_after = TimeUntilProbe(hot_, now);
  }
  snapshot.since = since_;
  snapshot.window_calls = window_.count();
  snapshot.window_failures = window_.failures();
  snapshot.tokens = rules_.bucket.Tokens(word.missing());
  snapshot.probes_in_flight = round_.in_flight();
  snapshot.probes_succeeded = round_.succeeded();
  snapshot.rejected = hot_.rejected.load(std::memory_order_relaxed);
  if (last_failure_ != nullptr) snapshot.last_failure = *last_failure_;
  snapshot.transitions = history_;
  return snapshot;
}

void BreakerMachine::TransitionToLocked(State to, TransitionReason reason,
                                        std::string why) {
  const BreakerWord from = LoadWord(hot_);
  if (!IsLegal(from.state(), to, reason)) return;
  const TimePoint now = clock_.Now();
  const std::uint64_t generation = from.generation() + 1;
  since_ = now;
  window_.Clear();
  round_.Start();
  hot_.failures_since_full.store(0, std::memory_order_relaxed);
  if (to == State::kClosed) open_period_.Restart();
  if (to == State::kOpen) {
    open_period_.Start(now, rules_.early_probe_after_rejections);
  }
  // Last, with release: who sees the new state sees what belongs to it.
  StoreWord(hot_,
            BreakerWord(to, from.rule(), MissingOnEntryLocked(from, to, reason),
                        generation));

  history_.push_back(
      {key_, from.state(), to, reason, std::move(why), generation, now});
  outbox_.Push(history_.back());
  if (history_.size() > kHistoryLength) history_.erase(history_.begin());
}

std::uint32_t BreakerMachine::MissingOnEntryLocked(
    BreakerWord from, State to, TransitionReason reason) const {
  if (reason == TransitionReason::kReset) return 0;
  const bool by_bucket = from.rule() == TripRule::kTokenBucket;
  switch (to) {
    case State::kClosed:
      return by_bucket ? from.missing() : 0;
    case State::kOpen:
      return by_bucket ? rules_.bucket.size : from.missing();
    case State::kHalfOpen:
      return by_bucket ? rules_.bucket.MissingWithOneToken() : from.missing();
  }
  return from.missing();
}

bool BreakerMachine::HasSlotLocked(int in_flight) const {
  if (rules_.trip_rule == TripRule::kTokenBucket) {
    const auto tokens = rules_.bucket.WholeTokens(LoadWord(hot_).missing());
    return in_flight < static_cast<int>(tokens);
  }
  return in_flight < rules_.half_open_max_in_flight &&
         in_flight + round_.succeeded() < rules_.half_open_calls;
}

void BreakerMachine::RecordCallLocked(const Report& report) {
  switch (CountOnBucket(hot_, report.admission.generation, report.outcome)) {
    case BucketResult::kCounted:
    case BucketResult::kStale:
      return;
    case BucketResult::kWouldTrip:
      OpenLocked(TransitionReason::kTripRule,
                 BucketEmptyText(1 + hot_.failures_since_full.load(
                                         std::memory_order_relaxed)),
                 report);
      return;
    case BucketResult::kNoBucket:
      RecordOnWindowLocked(report);
      return;
  }
}

void BreakerMachine::RecordOnWindowLocked(const Report& report) {
  const bool failed = report.outcome == Outcome::kFailure;
  CountOnBudgetLocked(report.outcome);
  window_.Add(failed);
  // Only a bad outcome may open.
  if (failed && window_.count() >= rules_.minimum_calls &&
      window_.failure_rate() >= rules_.failure_rate_threshold) {
    OpenLocked(TransitionReason::kTripRule,
               WindowTrippedText(window_.failures(), window_.count()), report);
  }
}

void BreakerMachine::RecordProbeLocked(const Report& report) {
  if (!round_.Finish(report.admission.probe)) return;
  if (!LoadWord(hot_).enabled()) return;
  if (report.outcome == Outcome::kSuccess) RecordProbeSuccessLocked();
  if (report.outcome == Outcome::kFailure) RecordProbeFailureLocked(report);
}

void BreakerMachine::RecordProbeSuccessLocked() {
  round_.AddSuccess();
  CountOnBudgetLocked(Outcome::kSuccess);
  if (rules_.trip_rule == TripRule::kTokenBucket) {
    if (rules_.bucket.MoreThanHalfFull(LoadWord(hot_).missing())) {
      TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                         "bucket more than half full");
    }
  } else if (round_.succeeded() >= rules_.half_open_calls) {
    TransitionToLocked(State::kClosed, TransitionReason::kProbesSucceeded,
                       ProbesSucceededText(round_.succeeded()));
  }
}

void BreakerMachine::RecordProbeFailureLocked(const Report& report) {
  CountOnBudgetLocked(Outcome::kFailure);
  // A fraction of a token lets no probe through, so it counts as empty.
  if (rules_.trip_rule == TripRule::kTokenBucket &&
      rules_.bucket.WholeTokens(LoadWord(hot_).missing()) > 0) {
    return;
  }
  OpenLocked(TransitionReason::kProbeFailed, "probe failed", report);
}

void BreakerMachine::OpenLocked(TransitionReason reason, std::string why,
                                const Report& failure) {
  last_failure_ = std::make_shared<const std::string>(
      FailureText(failure.code, failure.message));
  TransitionToLocked(State::kOpen, reason, std::move(why));
}

void BreakerMachine::CountOnBudgetLocked(Outcome outcome) {
  const BreakerWord word = LoadWord(hot_);
  StoreWord(hot_,
            word.WithMissing(outcome == Outcome::kFailure
                                 ? rules_.bucket.AfterFailure(word.missing())
                                 : rules_.bucket.AfterSuccess(word.missing())));
}

void BreakerMachine::ResizeBucketLocked(const TokenBucket& before,
                                        TripRule rule_before) {
  std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
  BreakerWord changed(seen);
  do {  // while CLOSED, other threads count without the lock
    const BreakerWord word(seen);
    const TokenBucket& bucket = rules_.bucket;
    std::uint32_t missing =
        before.MissingAfterResize(word.missing(), bucket.size);
    if (word.state() == State::kHalfOpen &&
        rules_.trip_rule == TripRule::kTokenBucket) {
      // Never without a whole token, or no probe could give the verdict; and a
      // slow start when the bucket didn't decide before.
      missing = rule_before == TripRule::kTokenBucket
                    ? std::min(missing, bucket.MissingWithOneToken())
                    : bucket.MissingWithOneToken();
    }
    changed = word.WithMissing(missing).WithRule(rules_.trip_rule);
  } while (!hot_.word.compare_exchange_weak(seen, changed.bits(),
                                            std::memory_order_acq_rel,
                                            std::memory_order_acquire));
}

void BreakerMachine::ShowRulesLocked() {
  hot_.bucket_size.store(rules_.bucket.size, std::memory_order_relaxed);
  hot_.bucket_per_success.store(rules_.bucket.per_success,
                                std::memory_order_relaxed);
  hot_.limits_retries.store(rules_.limits_retries, std::memory_order_relaxed);
}

}  // namespace grpc_resilience::internal

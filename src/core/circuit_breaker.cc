#include "grpc_resilience/circuit_breaker.h"

#include <utility>

#include "core/breaker_context.h"
#include "core/breaker_identity.h"
#include "core/breaker_machine.h"
#include "core/closed_bucket.h"
#include "core/open_period.h"

namespace grpc_resilience {

using internal::Admitted;
using internal::BreakerContext;
using internal::BreakerIdentity;
using internal::BreakerMachine;
using internal::BreakerRules;
using internal::BreakerWord;
using internal::BucketResult;
using internal::CountingPath;
using internal::LoadBucket;
using internal::LoadWord;
using internal::Report;

// The header's inline code knows these two.
static_assert(BreakerWord(State::kClosed, CountingPath::kBucket, 0, 1).bits() ==
              std::uint64_t{1} << internal::kBreakerGenerationShift);
static_assert(BreakerWord(static_cast<State>(3), static_cast<CountingPath>(3),
                          0, 0)
                  .bits() == internal::kBreakerNotPlain);

namespace {

Report ReportOf(const Admitted& admitted, Outcome outcome, IgnoredCause cause) {
  Report report;
  report.admission = {admitted.generation, admitted.probe};
  report.outcome = outcome;
  report.cause = cause;
  report.slow_at = admitted.slow_at;
  report.slow_ticket = admitted.slow_ticket;
  return report;
}

}  // namespace

void Permit::RecordOne(CircuitBreaker* breaker, std::uint64_t generation,
                       std::uint64_t probe, TimePoint slow_at,
                       std::uint64_t slow_ticket, Outcome outcome,
                       StatusCode code, std::string_view message) {
  Report report = ReportOf({breaker, generation, probe, slow_at, slow_ticket},
                           outcome, IgnoredCause::kUnspecified);
  report.code = code;
  report.message = message;
  breaker->RecordOutcome(report);
}

void Permit::IgnoreOne(CircuitBreaker* breaker, std::uint64_t generation,
                       std::uint64_t probe, TimePoint slow_at,
                       std::uint64_t slow_ticket, IgnoredCause cause) {
  Report report = ReportOf({breaker, generation, probe, slow_at, slow_ticket},
                           Outcome::kIgnored, cause);
  breaker->RecordOutcome(report);
}

bool Permit::MarkSlow() {
  if (!slow_at() || admitted_.slow_ticket != 0 || is_probe()) return false;
  BreakerMachine& machine = admitted_.breaker->Machine();
  admitted_.slow_ticket = machine.MarkSlow(
      ReportOf(admitted_, Outcome::kIgnored, IgnoredCause::kNone));
  machine.Publish();
  return admitted_.slow_ticket != 0;
}

CircuitBreaker::CircuitBreaker(const BreakerKey& key,
                               const BreakerPolicy& policy,
                               const RetryThrottlePolicy& throttle,
                               const Clock& clock, Random& random,
                               TransitionSink* sink)
    : CircuitBreaker(
          key, std::make_shared<const BreakerContext>(BreakerContext{
                   BreakerRules(policy, throttle), clock, random, sink})) {}

CircuitBreaker::CircuitBreaker(const BreakerKey& key,
                               std::shared_ptr<const BreakerContext> context)
    : identity_(BreakerIdentity::Make(key, context->clock.Now()).release()),
      context_(std::move(context)) {
  // Not under the lock: absl may keep memory for each mutex that was ever taken.
  const internal::TokenBucket& bucket = context_->rules.bucket;
  hot_.bucket_size.store(bucket.size, std::memory_order_relaxed);
  hot_.bucket_per_success.store(bucket.per_success, std::memory_order_relaxed);
  ShowFlags(*context_);
  hot_.word.store(
      BreakerWord(State::kClosed, context_->rules.Path(), 0, 0).bits(),
      std::memory_order_release);
}

CircuitBreaker::~CircuitBreaker() {
  delete MachineIfAny();
  internal::BreakerIdentityDeleter()(identity_);
}

Admitted CircuitBreaker::AdmitOtherwise(bool may_probe) {
  const BreakerWord word = LoadWord(hot_);
  if (word.path() == CountingPath::kDisabled) {
    return {this, internal::kNoGeneration};
  }
  const bool timed = hot_.times_calls.load(std::memory_order_relaxed);
  const bool forced = word.path() == CountingPath::kForced;
  if (!forced && !timed && word.state() == State::kClosed) {
    return {this, word.generation()};
  }
  BreakerMachine& machine = Machine();
  if (!forced && word.state() == State::kOpen &&
      !MayBeReadySoon(machine.open_line(), machine.clock().CoarseNow())) {
    machine.open_line().rejected.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const TimePoint now = machine.clock().Now();
  const TimePoint slow_at = timed ? machine.SlowAt(now) : TimePoint::max();
  if (!forced && word.state() == State::kClosed) {
    return {this, word.generation(), 0, slow_at};
  }
  internal::OpenLine& line = machine.open_line();
  const bool waits =
      !may_probe || (word.state() == State::kOpen && !ProbeReady(line, now));
  if (!forced && waits) {
    line.rejected.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const auto admission = machine.Admit(now);
  machine.Publish();
  if (!admission) return {};
  return {this, admission->generation, admission->probe, slow_at};
}

void CircuitBreaker::RecordOutcome(Report& report) {
  const std::uint64_t generation = report.admission.generation;
  if (generation == internal::kNoGeneration) return;  // disabled then
  const bool plain =
      report.admission.probe == 0 && generation != internal::kShadowGeneration;
  if (plain && report.outcome == Outcome::kIgnored) {
    return Machine().CountIgnored(report.cause);
  }
  if (plain) {
    switch (CountOnBucket(hot_, generation, report.outcome)) {
      case BucketResult::kCounted:
        return;
      case BucketResult::kStale:
        return Machine().CountIgnored(IgnoredCause::kStale);
      case BucketResult::kEmptied:
        report.emptied_bucket = true;
        break;
      case BucketResult::kWouldTrip:
      case BucketResult::kNotAlone:
        break;
    }
  }
  BreakerMachine& machine = Machine();
  if (plain && report.outcome == Outcome::kSuccess &&
      machine.RecordSuccessQuickly(report)) {
    return;
  }
  machine.Record(report);
  machine.Publish();
}

bool CircuitBreaker::WouldReject() const {
  const BreakerWord word = LoadWord(hot_);
  const bool forced = word.path() == CountingPath::kForced;
  if (word.path() == CountingPath::kDisabled ||
      (!forced && word.state() == State::kClosed)) {
    return false;
  }
  const BreakerMachine* const machine = MachineIfAny();
  // None: CLOSED, and only looks forced while a bucket is resized.
  return machine != nullptr && !machine->WouldAdmit(machine->clock().Now());
}

bool CircuitBreaker::RetryAllowed() const {
  const BreakerWord word = LoadWord(hot_);
  return word.path() == CountingPath::kDisabled ||
         !hot_.limits_retries.load(std::memory_order_relaxed) ||
         LoadBucket(hot_).MoreThanHalfFull(word.missing());
}

Rejection CircuitBreaker::rejection() const {
  const BreakerMachine* const machine = MachineIfAny();
  if (machine == nullptr) return {};
  return machine->rejection(machine->clock().Now());
}

State CircuitBreaker::state() const { return LoadWord(hot_).state(); }

BreakerKey CircuitBreaker::key() const { return identity_->key(); }

BreakerSnapshot CircuitBreaker::snapshot(SnapshotParts parts) const {
  if (const BreakerMachine* const machine = MachineIfAny()) {
    return machine->snapshot(machine->clock().Now(), parts);
  }
  BreakerSnapshot snapshot;  // never anything but CLOSED
  snapshot.key = key();
  snapshot.since = identity_->made_at();
  snapshot.tokens = LoadBucket(hot_).Tokens(LoadWord(hot_).missing());
  return snapshot;
}

void CircuitBreaker::Reset() {
  BreakerMachine& machine = Machine();
  machine.Reset();
  machine.Publish();
}

void CircuitBreaker::MakeProbeReady() {
  if (BreakerMachine* const machine = MachineIfAny()) machine->MakeProbeReady();
}

void CircuitBreaker::ForceMode(OperatorMode mode, std::optional<Duration> ttl,
                               std::string_view reason) {
  if (ttl && *ttl <= Duration::zero()) return;
  BreakerMachine& machine = Machine();
  machine.ForceMode(mode, ttl, reason);
  machine.Publish();
}

void CircuitBreaker::Reconfigure(const BreakerPolicy& policy,
                                 const RetryThrottlePolicy& throttle) {
  const std::shared_ptr<const BreakerContext> now = context();
  Reconfigure(std::make_shared<const BreakerContext>(BreakerContext{
      BreakerRules(policy, throttle), now->clock, now->random, now->sink}));
}

void CircuitBreaker::Reconfigure(
    std::shared_ptr<const BreakerContext> context) {
  BreakerMachine* machine = nullptr;
  {
    const absl::MutexLock lock(&mu_);
    context_ = std::move(context);
    ShowFlags(*context_);
    machine = MachineIfAny();
    if (machine != nullptr) {
      machine->Reconfigure(context_);
    } else {
      ResizeBucket(hot_, context_->rules.bucket, context_->rules.Path());
    }
  }
  if (machine != nullptr) machine->Publish();
}

BreakerMachine& CircuitBreaker::Machine() {
  if (BreakerMachine* const machine = MachineIfAny()) return *machine;
  const absl::MutexLock lock(&mu_);
  if (BreakerMachine* const machine = MachineIfAny()) return *machine;
  auto* const machine = new BreakerMachine(*identity_, hot_, context_);
  machine_.store(machine, std::memory_order_release);
  return *machine;
}

void CircuitBreaker::ShowFlags(const BreakerContext& context) {
  hot_.limits_retries.store(context.rules.limits_retries,
                            std::memory_order_relaxed);
  hot_.times_calls.store(context.rules.TimesCalls(), std::memory_order_relaxed);
}

std::shared_ptr<const BreakerContext> CircuitBreaker::context() const {
  const absl::MutexLock lock(&mu_);
  return context_;
}

bool CircuitBreaker::MayBeForgotten(TimePoint now) const {
  const BreakerWord word = LoadWord(hot_);
  if (word.state() != State::kClosed) return false;
  if (word.path() != CountingPath::kForced) return true;
  const BreakerMachine* const machine = MachineIfAny();
  return machine != nullptr && machine->ModeAt(now) == OperatorMode::kAuto;
}

}  // namespace grpc_resilience

#include "grpc_resilience/circuit_breaker.h"

#include <array>
#include <new>
#include <utility>

#include "absl/hash/hash.h"
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

Admitted AdmittedBy(CircuitBreaker* breaker, std::uint64_t generation,
                    std::uint64_t probe = 0, TimePoint slow_at = {}) {
  return {breaker, generation << internal::kBreakerGenerationShift, probe,
          slow_at};
}

Report ReportOf(const Admitted& admitted, Outcome outcome, IgnoredCause cause) {
  Report report;
  report.admission.generation =
      admitted.generation >> internal::kBreakerGenerationShift;
  if ((admitted.number & internal::kSlowTicket) != 0) {
    report.slow_ticket = admitted.number & ~internal::kSlowTicket;
  } else {
    report.admission.probe = admitted.number;
  }
  report.outcome = outcome;
  report.cause = cause;
  if (admitted.slow_at != TimePoint()) report.slow_at = admitted.slow_at;
  return report;
}

}  // namespace

void Permit::RecordOne(CircuitBreaker* breaker, std::uint64_t generation,
                       std::uint64_t number, TimePoint slow_at, Outcome outcome,
                       StatusCode code, std::string_view message) {
  Report report = ReportOf({breaker, generation, number, slow_at}, outcome,
                           IgnoredCause::kUnspecified);
  report.code = code;
  report.message = message;
  breaker->RecordOutcome(report);
}

void Permit::RecordRetried() {
  const Admitted admitted = std::exchange(admitted_, {});
  if (admitted.breaker == nullptr) return;
  Report report =
      ReportOf(admitted, Outcome::kSuccess, IgnoredCause::kUnspecified);
  report.retried = true;
  admitted.breaker->RecordOutcome(report);
}

void Permit::IgnoreOne(CircuitBreaker* breaker, std::uint64_t generation,
                       std::uint64_t number, TimePoint slow_at,
                       IgnoredCause cause) {
  Report report = ReportOf({breaker, generation, number, slow_at},
                           Outcome::kIgnored, cause);
  breaker->RecordOutcome(report);
}

bool Permit::MarkSlow() {
  if (!slow_at() || admitted_.number != 0) return false;
  BreakerMachine& machine = admitted_.breaker->Machine();
  const std::uint64_t ticket = machine.MarkSlow(
      ReportOf(admitted_, Outcome::kIgnored, IgnoredCause::kNone));
  machine.Publish();
  if (ticket == 0) return false;
  admitted_.number = ticket | internal::kSlowTicket;
  return true;
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
  ShowBucket(hot_, context_->rules.bucket);
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
    return AdmittedBy(this, internal::kNoGeneration);
  }
  const bool timed = internal::TimesCalls(hot_);
  const bool forced = word.path() == CountingPath::kForced;
  if (!forced && !timed && word.state() == State::kClosed) {
    return AdmittedBy(this, word.generation());
  }
  BreakerMachine& machine = Machine();
  if (!forced && word.state() == State::kOpen &&
      !MayBeReadySoon(machine.open_line(), machine.clock().CoarseNow())) {
    machine.open_line().rejected.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const TimePoint now = machine.clock().Now();
  const TimePoint slow_at = timed ? machine.SlowAt(now) : TimePoint();
  if (!forced && word.state() == State::kClosed) {
    return AdmittedBy(this, word.generation(), 0, slow_at);
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
  return AdmittedBy(this, admission->generation, admission->probe, slow_at);
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
    switch (
        CountOnBucket(hot_, generation, report.outcome, report.takes_token())) {
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
  if (plain && !report.takes_token() && machine.RecordSuccessQuickly(report)) {
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
  return word.path() == CountingPath::kDisabled || !LimitsRetries(hot_) ||
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

void CircuitBreaker::OpenFor(Duration hinted, StatusCode code,
                             std::string_view message) {
  BreakerMachine& machine = Machine();
  machine.OpenFor(hinted, code, message);
  machine.Publish();
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
    const absl::MutexLock lock(&mu());
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

absl::Mutex& CircuitBreaker::mu() const {
  using Locks = std::array<absl::Mutex, 64>;
  alignas(Locks) static unsigned char memory[sizeof(Locks)];
  // Never destroyed: breakers may be in use while the process ends.
  static Locks& locks = *new (memory) Locks;
  return locks[absl::HashOf(this) % locks.size()];
}

BreakerMachine& CircuitBreaker::Machine() {
  if (BreakerMachine* const machine = MachineIfAny()) return *machine;
  const absl::MutexLock lock(&mu());
  if (BreakerMachine* const machine = MachineIfAny()) return *machine;
  auto* const machine = new BreakerMachine(*identity_, hot_, context_);
  machine_.store(machine, std::memory_order_release);
  return *machine;
}

void CircuitBreaker::ShowFlags(const BreakerContext& context) {
  internal::ShowFlags(hot_, context.rules.limits_retries,
                      context.rules.TimesCalls());
}

std::shared_ptr<const BreakerContext> CircuitBreaker::context() const {
  const absl::MutexLock lock(&mu());
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

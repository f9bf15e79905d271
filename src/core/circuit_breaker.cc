#include "grpc_resilience/circuit_breaker.h"

#include <utility>

#include "core/breaker_machine.h"
#include "core/breaker_rules.h"
#include "core/breaker_word.h"
#include "core/closed_bucket.h"
#include "core/open_period.h"

namespace grpc_resilience {

using internal::BreakerRules;
using internal::BreakerWord;
using internal::BucketResult;
using internal::LoadBucket;
using internal::LoadWord;

static_assert(sizeof(internal::BreakerHotLine) == 64);
static_assert(std::atomic<TimePoint>::is_always_lock_free);

Permit::Permit(Permit&& other) noexcept
    : breaker_(std::exchange(other.breaker_, nullptr)),
      generation_(other.generation_),
      probe_(other.probe_) {}

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  Record(Outcome::kIgnored);
  breaker_ = std::exchange(other.breaker_, nullptr);
  generation_ = other.generation_;
  probe_ = other.probe_;
  return *this;
}

Permit::~Permit() { Record(Outcome::kIgnored); }

void Permit::Record(Outcome outcome, StatusCode code,
                    std::string_view message) {
  CircuitBreaker* const breaker = std::exchange(breaker_, nullptr);
  if (breaker == nullptr) return;
  breaker->RecordOutcome(generation_, probe_, outcome, code, message);
}

CircuitBreaker::CircuitBreaker(BreakerKey key, const BreakerPolicy& policy,
                               const RetryThrottlePolicy& throttle,
                               const Clock& clock, Random& random,
                               TransitionSink* sink)
    : key_(std::move(key)),
      clock_(clock),
      machine_(std::make_unique<internal::BreakerMachine>(
          key_, hot_, BreakerRules(policy, throttle), clock, random, sink)) {}

CircuitBreaker::~CircuitBreaker() = default;

std::optional<Permit> CircuitBreaker::TryAcquire() {
  const BreakerWord word = LoadWord(hot_);
  if (!word.enabled()) return Permit(this, internal::kNoGeneration, 0);
  if (word.state() == State::kClosed) {
    return Permit(this, word.generation(), 0);
  }
  const TimePoint now = clock_.Now();
  if (word.state() == State::kOpen && !ProbeReady(hot_, now)) {
    hot_.rejected.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  const auto admission = machine_->Admit(now);
  machine_->Publish();
  if (!admission) return std::nullopt;
  return Permit(this, admission->generation, admission->probe);
}

void CircuitBreaker::RecordOutcome(std::uint64_t generation,
                                   std::uint64_t probe, Outcome outcome,
                                   StatusCode code, std::string_view message) {
  if (probe == 0) {
    if (outcome == Outcome::kIgnored) return;
    if (outcome == Outcome::kSuccess && LoadWord(hot_).IsHealthy(generation)) {
      return;
    }
    const BucketResult result = CountOnBucket(hot_, generation, outcome);
    if (result == BucketResult::kCounted || result == BucketResult::kStale) {
      return;
    }
  }
  machine_->Record({{generation, probe}, outcome, code, message});
  machine_->Publish();
}

bool CircuitBreaker::WouldReject() const {
  const BreakerWord word = LoadWord(hot_);
  if (!word.enabled() || word.state() == State::kClosed) return false;
  return !machine_->WouldAdmit(clock_.Now());
}

bool CircuitBreaker::RetryAllowed() const {
  const BreakerWord word = LoadWord(hot_);
  return !word.enabled() ||
         !hot_.limits_retries.load(std::memory_order_relaxed) ||
         LoadBucket(hot_).MoreThanHalfFull(word.missing());
}

Rejection CircuitBreaker::rejection() const {
  return machine_->rejection(clock_.Now());
}

State CircuitBreaker::state() const { return LoadWord(hot_).state(); }

BreakerSnapshot CircuitBreaker::snapshot() const {
  return machine_->snapshot(clock_.Now());
}

void CircuitBreaker::Reset() {
  machine_->Reset();
  machine_->Publish();
}

void CircuitBreaker::Reconfigure(const BreakerPolicy& policy,
                                 const RetryThrottlePolicy& throttle) {
  machine_->Reconfigure(BreakerRules(policy, throttle));
  machine_->Publish();
}

}  // namespace grpc_resilience

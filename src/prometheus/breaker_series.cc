#include "prometheus/breaker_series.h"

#include <optional>
#include <utility>

namespace grpc_resilience::internal {
namespace {

// So many are listed under the registry's lock, for which new breakers wait.
constexpr std::size_t kAtOnce = 256;

// How much it hurts.
int Rank(State state) {
  switch (state) {
    case State::kClosed:
      return 0;
    case State::kHalfOpen:
      return 1;
    case State::kOpen:
      return 2;
  }
  return 0;
}

int Rank(OperatorMode mode) {
  switch (mode) {
    case OperatorMode::kAuto:
      return 0;
    case OperatorMode::kShadow:
      return 1;
    case OperatorMode::kForcedClosed:
      return 2;
    case OperatorMode::kForcedOpen:
      return 3;
  }
  return 0;
}

template <typename T>
void RaiseTo(T value, T* highest) {
  if (Rank(value) > Rank(*highest)) *highest = value;
}

std::string TextOf(const LabelName* label) {
  return label != nullptr ? label->text : std::string();
}

}  // namespace

void BreakerSeries::Begin() {
  state_ = State::kClosed;
  mode_ = OperatorMode::kAuto;
  for (GrowingSum& sum : ignored_) sum.Begin();
  would_have_rejected_.Begin();
  then_succeeded_.Begin();
}

void BreakerSeries::Add(const BreakerSnapshot& breaker) {
  RaiseTo(breaker.state, &state_);
  RaiseTo(breaker.mode, &mode_);
  for (std::size_t i = 0; i < kIgnoredCauses; ++i) {
    ignored_[i].Add(breaker.ignored.by_cause[i]);
  }
  would_have_rejected_.Add(breaker.shadow.would_have_rejected);
  then_succeeded_.Add(breaker.shadow.then_succeeded);
}

void BreakerSeries::End() {
  for (GrowingSum& sum : ignored_) sum.End();
  would_have_rejected_.End();
  then_succeeded_.End();
}

void BreakerSeries::Count(const TransitionEvent& event) {
  for (std::size_t i = 0; i < kTransitionKinds; ++i) {
    const LegalTransition& legal = kLegalTransitions[i];
    if (legal.from == event.from && legal.to == event.to &&
        legal.reason == event.reason) {
      transitions_[i].fetch_add(1, std::memory_order_relaxed);
    }
  }
}

BreakerSeriesTable::Labels BreakerSeriesTable::LabelsOf(const BreakerKey& key) {
  if (!key.custom.empty()) {
    return {nullptr, nullptr, &keys_.FindOrAdd(key.custom)};
  }
  return {&targets_.FindOrAdd(key.target),
          key.method.empty() ? nullptr : &methods_.Find(key.method), nullptr};
}

BreakerSeries& BreakerSeriesTable::Of(const BreakerKey& key) {
  const Labels labels = LabelsOf(key);
  const auto& [target, method, custom] = labels;
  absl::MutexLock lock(&mu_);
  const auto found = by_labels_.find(labels);
  if (found != by_labels_.end()) return *found->second;
  // A target that is one of too many shows no breakers of its own.
  if (target == &targets_.other() || series_.size() == most_) {
    other_used_ = true;
    return other_;
  }
  series_.push_back(std::make_unique<BreakerSeries>(
      TextOf(target), TextOf(method), TextOf(custom)));
  by_labels_.emplace(labels, series_.back().get());
  return *series_.back();
}

void BreakerSeriesTable::Look(const BreakerRegistry& registry) {
  breakers_ = {};
  for (BreakerSeries* const series : All()) series->Begin();
  std::optional<BreakerKey> last;
  std::vector<std::shared_ptr<CircuitBreaker>> part;
  do {
    part = registry.ListAfter(last, kAtOnce);
    for (const auto& breaker : part) {
      const BreakerSnapshot snapshot =
          breaker->snapshot(SnapshotParts::kWithoutTransitions);
      ++breakers_[static_cast<std::size_t>(snapshot.state)];
      Of(snapshot.key).Add(snapshot);
    }
    if (!part.empty()) last = part.back()->key();
  } while (part.size() == kAtOnce);
  for (BreakerSeries* const series : All()) series->End();
}

std::vector<BreakerSeries*> BreakerSeriesTable::All() const {
  absl::MutexLock lock(&mu_);
  std::vector<BreakerSeries*> all;
  all.reserve(series_.size() + 1);
  for (const auto& series : series_) all.push_back(series.get());
  if (other_used_) all.push_back(&other_);
  return all;
}

}  // namespace grpc_resilience::internal

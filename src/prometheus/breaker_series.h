// What is shown of breakers: of each one by itself as long as there aren't too
// many, of the rest together.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/legal_transitions.h"
#include "grpc_resilience/breaker_registry.h"
#include "grpc_resilience/breaker_snapshot.h"
#include "prometheus/label_names.h"

namespace grpc_resilience::internal {

inline constexpr std::size_t kTransitionKinds =
    sizeof(kLegalTransitions) / sizeof(kLegalTransitions[0]);
inline constexpr std::size_t kStates = 3;

/// Of breakers, whose counts go when they are evicted, a sum that never shrinks.
class GrowingSum {
 public:
  void Begin() { sum_ = 0; }
  void Add(std::uint64_t count) { sum_ += count; }
  void End() {
    if (sum_ > last_sum_) shown_ += sum_ - last_sum_;
    last_sum_ = sum_;
  }
  std::uint64_t shown() const { return shown_; }

 private:
  std::uint64_t sum_ = 0;
  std::uint64_t last_sum_ = 0;
  std::uint64_t shown_ = 0;
};

/// The series of one breaker, or of several with the same labels: then the state
/// and the mode are those that hurt most. Without any breaker it is CLOSED, as one
/// is that was evicted. Not safe for use from several threads at once, but for
/// Count.
class BreakerSeries {
 public:
  /// Empty text: no such label.
  BreakerSeries(std::string target, std::string method, std::string key)
      : target_(std::move(target)),
        method_(std::move(method)),
        key_(std::move(key)) {}

  const std::string& target() const { return target_; }
  const std::string& method() const { return method_; }
  const std::string& key() const { return key_; }

  // One look at all its breakers:
  void Begin();
  void Add(const BreakerSnapshot& breaker);
  void End();

  void Count(const TransitionEvent& event);

  State state() const { return state_; }
  OperatorMode mode() const { return mode_; }
  /// Of kLegalTransitions[kind].
  std::uint64_t transitions(std::size_t kind) const {
    return transitions_[kind].load(std::memory_order_relaxed);
  }
  std::uint64_t ignored(IgnoredCause cause) const {
    return ignored_[static_cast<std::size_t>(cause)].shown();
  }
  std::uint64_t would_have_rejected() const {
    return would_have_rejected_.shown();
  }
  std::uint64_t then_succeeded() const { return then_succeeded_.shown(); }

 private:
  const std::string target_;
  const std::string method_;
  const std::string key_;
  State state_ = State::kClosed;
  OperatorMode mode_ = OperatorMode::kAuto;
  std::array<std::atomic<std::uint64_t>, kTransitionKinds> transitions_{};
  std::array<GrowingSum, kIgnoredCauses> ignored_;
  GrowingSum would_have_rejected_;
  GrowingSum then_succeeded_;
};

/// Which breaker belongs to which series. This type is safe to use from several
/// threads at once, but for Look and what it finds: one at a time.
class BreakerSeriesTable {
 public:
  /// Series for `most` breakers. The names must outlive it.
  BreakerSeriesTable(std::size_t most, LabelNames* targets, LabelNames* methods)
      : most_(most),
        targets_(*targets),
        methods_(*methods),
        keys_(most),
        other_(kOtherLabel, "", "") {}

  /// Lives as long as the table.
  BreakerSeries& Of(const BreakerKey& key) ABSL_LOCKS_EXCLUDED(mu_);
  /// Reads every breaker, some at a time, so that nobody waits for all of them.
  void Look(const BreakerRegistry& registry) ABSL_LOCKS_EXCLUDED(mu_);

  /// Of the last Look, by State.
  const std::array<std::size_t, kStates>& breakers() const { return breakers_; }
  /// That which stands for many is among them once it is needed.
  std::vector<BreakerSeries*> All() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Of target, method and custom key; null: no such label.
  using Labels =
      std::tuple<const LabelName*, const LabelName*, const LabelName*>;
  Labels LabelsOf(const BreakerKey& key);

  const std::size_t most_;
  LabelNames& targets_;
  const LabelNames& methods_;
  LabelNames keys_;
  // For as long as a look-up takes: who tells of a transition never waits for Look.
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Labels, BreakerSeries*> by_labels_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<BreakerSeries>> series_
      ABSL_GUARDED_BY(mu_);  // as they came
  mutable BreakerSeries other_;
  bool other_used_ ABSL_GUARDED_BY(mu_) = false;
  std::array<std::size_t, kStates> breakers_{};
};

}  // namespace grpc_resilience::internal

// What is counted of the calls of one method to one target.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc_resilience/observer.h"
#include "prometheus/duration_buckets.h"
#include "prometheus/label_names.h"

namespace grpc_resilience::internal {

/// 0 … 16, and one for every number that gRPC doesn't define.
inline constexpr std::size_t kCodes = 18;
/// The label's value.
std::string CodeLabel(std::size_t index);

/// Kinds of fallback that are told apart, and "other".
inline constexpr std::array<std::string_view, 6> kFallbackKinds = {
    "stale_cache",  "static_response", "function",
    "other_target", "queue",           kOtherLabel};

/// A value type.
struct HistogramTotals {
  std::vector<std::uint64_t> by_bucket;
  std::uint64_t nanoseconds = 0;
};

/// What CallSeries counted so far. A value type.
struct CallTotals {
  std::array<std::uint64_t, kCodes> calls{};
  std::array<std::uint64_t, kCodes> attempts{};
  std::uint64_t retries = 0;
  std::uint64_t rejected = 0;
  std::uint64_t budget_refusals = 0;
  std::uint64_t hedges = 0;
  std::array<std::uint64_t, kFallbackKinds.size()> fallbacks_answered{};
  std::array<std::uint64_t, kFallbackKinds.size()> fallbacks_failed{};
  HistogramTotals call_duration;
  HistogramTotals attempt_duration;
};

/// This type is safe to use from several threads at once, but for Read: one at a
/// time. Each thread counts in one of several stripes, which share no cache line:
/// a success writes two lines that hardly another thread touches.
class CallSeries {
 public:
  /// The references must outlive it.
  CallSeries(const LabelName& target, const LabelName& method,
             const DurationBuckets& buckets);

  using Key = std::pair<const LabelName*, const LabelName*>;
  bool Matches(const Key& key) const {
    return key.first == &target_ && key.second == &method_;
  }
  const LabelName& target() const { return target_; }
  const LabelName& method() const { return method_; }

  void Count(const AttemptEvent& event);
  void Count(const CallEvent& event);
  void Count(const BudgetRefusalEvent& event);
  void Count(const HedgeEvent& event);
  void Count(const FallbackEvent& event);

  /// No figure is ever less than it was before.
  CallTotals Read();

 private:
  struct alignas(64) Line {
    std::array<std::atomic<std::uint64_t>, 8> cells{};
  };

  Line* OwnStripe();
  std::uint64_t Sum(std::size_t cell) const;
  HistogramTotals SumHistogram(std::size_t time_cell,
                               std::size_t first_bucket) const;

  const LabelName& target_;
  const LabelName& method_;
  const DurationBuckets& buckets_;
  const std::size_t lines_per_stripe_;
  const std::unique_ptr<Line[]> lines_;
  std::uint64_t retries_shown_ = 0;
};

}  // namespace grpc_resilience::internal

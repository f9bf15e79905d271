#include "prometheus/call_series.h"

#include <algorithm>
#include <thread>

#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {
namespace {

// Where in a stripe a counter is. The first line is all that a success writes,
// beside one bucket of each histogram, which are neighbours.
enum Cell : std::size_t {
  kCallOk,
  kAttemptOk,
  kCallTime,  // nanoseconds
  kAttemptTime,
  kLaterAttempts,  // that ended and weren't the first of their call
  kRejected,
  kBudgetRefusals,
  kHedges,
  kCalls,  // not OK: by code, attempts between them
  kAttempts,
  kFallbacks = kCalls + 2 * (kCodes - 1),
  kCallBuckets = 56,
  kAttemptBuckets,
};
constexpr std::size_t kFallbackCells = 2 * kFallbackKinds.size();
static_assert(kFallbacks + kFallbackCells <= kCallBuckets);
static_assert(kCallBuckets % 8 == 0);

std::size_t CodeIndex(StatusCode code) {
  const auto number = static_cast<std::size_t>(code);
  return number < kCodes - 1 ? number : kCodes - 1;
}

std::size_t CallCell(std::size_t code) {
  return code == 0 ? kCallOk : kCalls + 2 * (code - 1);
}
std::size_t AttemptCell(std::size_t code) {
  return code == 0 ? kAttemptOk : kAttempts + 2 * (code - 1);
}

std::size_t FallbackCell(std::size_t kind, bool answered) {
  return kFallbacks + 2 * kind + (answered ? 1 : 0);
}

std::size_t KindIndex(std::string_view kind) {
  const auto found =
      std::find(kFallbackKinds.begin(), kFallbackKinds.end() - 1, kind);
  return static_cast<std::size_t>(found - kFallbackKinds.begin());
}

// More than cores, so that two running threads seldom share one.
std::size_t Stripes() {
  static const std::size_t stripes = [] {
    const std::size_t wanted =
        2 * std::size_t{std::thread::hardware_concurrency()};
    std::size_t power = 8;
    while (power < wanted && power < 64) power *= 2;
    return power;
  }();
  return stripes;
}

std::size_t NumberOfThisThread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number =
      threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

std::uint64_t Nanoseconds(Duration duration) {
  return duration.count() > 0 ? static_cast<std::uint64_t>(duration.count())
                              : 0;
}

template <typename Lines>
void Add(Lines* stripe, std::size_t cell, std::uint64_t amount = 1) {
  stripe[cell / 8].cells[cell % 8].fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace

std::string CodeLabel(std::size_t index) {
  return index < kCodes - 1 ? StatusCodeName(static_cast<StatusCode>(index))
                            : std::string(kOtherLabel);
}

CallSeries::CallSeries(const LabelName& target, const LabelName& method,
                       const DurationBuckets& buckets)
    : target_(target),
      method_(method),
      buckets_(buckets),
      lines_per_stripe_((kCallBuckets + 2 * buckets.size() + 7) / 8),
      lines_(std::make_unique<Line[]>(Stripes() * lines_per_stripe_)) {}

CallSeries::Line* CallSeries::OwnStripe() {
  return &lines_[(NumberOfThisThread() & (Stripes() - 1)) * lines_per_stripe_];
}

void CallSeries::Count(const AttemptEvent& event) {
  Line* const stripe = OwnStripe();
  Add(stripe, AttemptCell(CodeIndex(event.code)));
  Add(stripe, kAttemptTime, Nanoseconds(event.duration));
  Add(stripe, kAttemptBuckets + 2 * buckets_.IndexOf(event.duration));
  if (event.number > 1) Add(stripe, kLaterAttempts);
}

void CallSeries::Count(const CallEvent& event) {
  Line* const stripe = OwnStripe();
  Add(stripe, CallCell(CodeIndex(event.code)));
  Add(stripe, kCallTime, Nanoseconds(event.duration));
  Add(stripe, kCallBuckets + 2 * buckets_.IndexOf(event.duration));
  if (event.reason == StopReason::kBreakerOpen) Add(stripe, kRejected);
}

void CallSeries::Count(const BudgetRefusalEvent& /*event*/) {
  Add(OwnStripe(), kBudgetRefusals);
}

void CallSeries::Count(const HedgeEvent& /*event*/) {
  Add(OwnStripe(), kHedges);
}

void CallSeries::Count(const FallbackEvent& event) {
  Add(OwnStripe(), FallbackCell(KindIndex(event.kind), event.answered));
}

std::uint64_t CallSeries::Sum(std::size_t cell) const {
  std::uint64_t sum = 0;
  for (std::size_t stripe = 0; stripe < Stripes(); ++stripe) {
    const Line& line = lines_[stripe * lines_per_stripe_ + cell / 8];
    sum += line.cells[cell % 8].load(std::memory_order_relaxed);
  }
  return sum;
}

HistogramTotals CallSeries::SumHistogram(std::size_t time_cell,
                                         std::size_t first_bucket) const {
  HistogramTotals totals;
  totals.nanoseconds = Sum(time_cell);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    totals.by_bucket.push_back(Sum(first_bucket + 2 * i));
  }
  return totals;
}

CallTotals CallSeries::Read() {
  CallTotals totals;
  for (std::size_t code = 0; code < kCodes; ++code) {
    totals.calls[code] = Sum(CallCell(code));
    totals.attempts[code] = Sum(AttemptCell(code));
  }
  // A hedge is heard of when it begins, an attempt when it ends: while hedges are
  // under way the difference is too small, never too large.
  const std::uint64_t later = Sum(kLaterAttempts);
  totals.hedges = Sum(kHedges);
  if (later > totals.hedges) {
    retries_shown_ = std::max(retries_shown_, later - totals.hedges);
  }
  totals.retries = retries_shown_;
  totals.rejected = Sum(kRejected);
  totals.budget_refusals = Sum(kBudgetRefusals);
  for (std::size_t kind = 0; kind < kFallbackKinds.size(); ++kind) {
    totals.fallbacks_answered[kind] = Sum(FallbackCell(kind, true));
    totals.fallbacks_failed[kind] = Sum(FallbackCell(kind, false));
  }
  totals.call_duration = SumHistogram(kCallTime, kCallBuckets);
  totals.attempt_duration = SumHistogram(kAttemptTime, kAttemptBuckets);
  return totals;
}

}  // namespace grpc_resilience::internal

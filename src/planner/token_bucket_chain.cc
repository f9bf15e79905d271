#include "planner/token_bucket_chain.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace grpc_resilience::internal {
namespace {

constexpr std::int64_t kMilli = 1000;  // one token
// About a second and 80 MB.
constexpr std::int64_t kMaxWork = 2'000'000'000;
constexpr std::int64_t kMaxNumbers = 10'000'000;

// The state is what is missing from the bucket, in the largest steps that both
// a failure and a success are a multiple of: 0 is full, `states` is empty.
struct Steps {
  Steps(int max_tokens, double token_ratio) {
    // As the bucket rounds it.
    const std::int64_t per_success = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(token_ratio * kMilli + 1e-6));
    const std::int64_t step = std::gcd(kMilli, per_success);
    states = max_tokens * kMilli / step;
    failure = kMilli / step;
    success = std::min(per_success / step, states);
  }
  bool TooMany() const {
    return states * failure * success > kMaxWork ||
           (failure + 1) * (failure + success + 1) > kMaxNumbers;
  }

  std::int64_t states;
  std::int64_t failure;
  std::int64_t success;
};

// One state while states above it are being eliminated: the mean time spent
// before another of the remaining states is entered, and where to.
struct Row {
  double time = 1;
  double empty = 0;        // probability to end
  std::vector<double> to;  // to[j - (i - success)]: from this state, i, to j
};

// Elimination of the states from the emptiest to the full one (Grassmann,
// Taksar and Heyman): it adds, multiplies and divides positive numbers only, so
// nothing cancels, however rare the end is. A row reaches no further than one
// failure up and one success down, and so it stays.
class Elimination {
 public:
  Elimination(const Steps& steps, double failure_rate)
      : steps_(steps), p_(failure_rate), rows_(steps.failure + 1) {}

  double MeanTimeFromFull() {
    const std::int64_t last = steps_.states - 1;
    for (std::int64_t i = std::max<std::int64_t>(0, last - steps_.failure);
         i <= last; ++i) {
      Enter(i);
    }
    for (std::int64_t state = last; state > 0; --state) {
      Eliminate(state);
      if (state > steps_.failure) Enter(state - steps_.failure - 1);
    }
    return RowOf(0).time / RowOf(0).empty;
  }

 private:
  Row& RowOf(std::int64_t i) { return rows_[i % (steps_.failure + 1)]; }
  double& To(std::int64_t i, std::int64_t j) {
    return RowOf(i).to[j - i + steps_.success];
  }

  void Enter(std::int64_t i) {
    Row& row = RowOf(i);
    row.time = 1;
    row.empty = 0;
    row.to.assign(steps_.failure + steps_.success + 1, 0.0);
    if (i + steps_.failure < steps_.states) {
      To(i, i + steps_.failure) += p_;
    } else {
      row.empty += p_;
    }
    To(i, std::max<std::int64_t>(0, i - steps_.success)) += 1 - p_;
  }

  void Eliminate(std::int64_t gone) {
    const Row& row = RowOf(gone);
    const std::int64_t lowest =
        std::max<std::int64_t>(0, gone - steps_.success);
    double leaves = row.empty;
    for (std::int64_t j = lowest; j < gone; ++j) leaves += To(gone, j);
    for (std::int64_t i = std::max<std::int64_t>(0, gone - steps_.failure);
         i < gone; ++i) {
      const double share = To(i, gone) / leaves;
      if (share == 0) continue;
      RowOf(i).time += share * row.time;
      RowOf(i).empty += share * row.empty;
      for (std::int64_t j = lowest; j < gone; ++j) {
        To(i, j) += share * To(gone, j);
      }
    }
  }

  const Steps steps_;
  const double p_;
  std::vector<Row> rows_;  // of the highest states that remain, as a ring
};

}  // namespace

std::optional<double> MeanCallsToEmpty(int max_tokens, double token_ratio,
                                       double failure_rate) {
  if (failure_rate <= 0) return std::numeric_limits<double>::infinity();
  const Steps steps(max_tokens, token_ratio);
  if (steps.TooMany()) return std::nullopt;
  return Elimination(steps, failure_rate).MeanTimeFromFull();
}

}  // namespace grpc_resilience::internal

#include "planner/count_window_chain.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/window_rule.h"

namespace grpc_resilience::internal {
namespace {

constexpr double kSettled = 1e-12;
constexpr double kNegligible = 1e-18;

// How likely each content of the window is, and not to have opened before. A
// content is its outcomes as bits, 1 for a failure, the newest lowest.
class Survivors {
 public:
  Survivors(const PlannedCountWindow& window, double failure_rate)
      : window_(window),
        p_(failure_rate),
        mass_(std::size_t{1} << window.window_calls),
        next_(mass_.size()) {
    mass_[0] = 1;
  }

  double surviving() const { return surviving_; }

  /// One more call; returns the share of the survivors that opened.
  double Step() {
    const bool was_full = count_ == window_.window_calls;
    if (!was_full) ++count_;
    const std::uint32_t oldest = was_full ? 1u << (count_ - 1) : 0;
    const int opening =
        count_ < window_.minimum_calls
            ? count_ + 1
            : FailuresThatOpen(count_, window_.failure_rate_threshold);
    double opened = 0;
    double left = 0;
    for (std::uint32_t content = 0; content < 1u << count_; ++content) {
      const std::uint32_t before = content >> 1;
      double mass = mass_[before] + (was_full ? mass_[before | oldest] : 0);
      const bool failed = (content & 1) != 0;
      mass *= failed ? p_ : 1 - p_;
      const int failures = static_cast<int>(std::bitset<32>(content).count());
      if (failed && failures >= opening) {
        opened += mass;
        mass = 0;
      }
      next_[content] = mass;
      left += mass;
    }
    mass_.swap(next_);
    const double share = opened / surviving_;
    surviving_ = left;
    return share;
  }

 private:
  const PlannedCountWindow window_;
  const double p_;
  int count_ = 0;  // outcomes in the window
  double surviving_ = 1;
  std::vector<double> mass_;
  std::vector<double> next_;
};

}  // namespace

// The mean is the sum of the probabilities to have survived 0, 1, 2, … calls.
// After a few windows the share that opens at each call is constant; from there
// the sum is that of a geometric series.
double ExactCallsToOpen(const PlannedCountWindow& window, double failure_rate) {
  if (failure_rate <= 0) return std::numeric_limits<double>::infinity();
  Survivors survivors(window, failure_rate);
  double mean = 0;
  double last_share = 0;
  int settled_calls = 0;
  while (survivors.surviving() > kNegligible * mean) {
    mean += survivors.surviving();
    const double share = survivors.Step();
    const bool same = std::abs(share - last_share) <= kSettled * share;
    settled_calls = same ? settled_calls + 1 : 0;
    last_share = share;
    if (settled_calls > window.window_calls) {
      return mean + survivors.surviving() / share;
    }
  }
  return mean;
}

}  // namespace grpc_resilience::internal

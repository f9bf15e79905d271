#include "planner/count_window_rarely.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/count_window.h"
#include "planner/binomial.h"
#include "planner/seeded_calls.h"
#include "planner/window_rule.h"

namespace grpc_resilience::internal {
namespace {

constexpr int kRareCalls = 20'000'000;

struct Share {
  double value = 0;
  double standard_error = 0;
};

Share ShareOf(int hits, int trials) {
  const double share = static_cast<double>(hits) / trials;
  return {share, std::sqrt(share * (1 - share) / trials)};
}

// Share of the moments at which a full window reaches `opening` failures from
// below where none of the windows that overlap it had as many.
Share FirstOfItsClump(int window_calls, int opening, double failure_rate) {
  SeededCalls calls(failure_rate);
  // Between the oldest outcome, a success that leaves the window, and the
  // newest, a failure that enters it; in any order.
  std::vector<char> between(window_calls - 1, 0);
  for (int i = 0; i < opening - 1; ++i) between[i] = 1;
  const int trials = kRareCalls / (2 * window_calls);
  int first = 0;
  for (int trial = 0; trial < trials; ++trial) {
    for (int i = window_calls - 1; i > 1; --i) {
      std::swap(between[i - 1], between[static_cast<int>(calls.Uniform() * i)]);
    }
    // The window moves back in time: the newest outcome leaves it.
    int failures = opening - 1;
    bool reached = false;
    for (int i = window_calls - 1; i > 0 && !reached; --i) {
      failures += (calls.NextFails() ? 1 : 0) - between[i - 1];
      reached = failures >= opening;
    }
    first += reached ? 0 : 1;
  }
  return ShareOf(first, trials);
}

// Share of the empty windows that open before they are full.
Share OpensWhileItFills(const PlannedCountWindow& rule, double failure_rate) {
  if (rule.minimum_calls == rule.window_calls) return {};
  SeededCalls calls(failure_rate);
  const int trials = kRareCalls / rule.window_calls;
  int opened = 0;
  for (int trial = 0; trial < trials; ++trial) {
    int failures = 0;
    for (int count = 1; count < rule.window_calls; ++count) {
      const bool failed = calls.NextFails();
      failures += failed ? 1 : 0;
      if (failed && count >= rule.minimum_calls &&
          failures >= FailuresThatOpen(count, rule.failure_rate_threshold)) {
        ++opened;
        break;
      }
    }
  }
  return ShareOf(opened, trials);
}

}  // namespace

CallsToOpen CallsToOpenRarely(const PlannedCountWindow& window,
                              double failure_rate) {
  const int calls = window.window_calls;
  const int opening = FailuresThatOpen(calls, window.failure_rate_threshold);
  const double reaches =
      (1 - failure_rate) * failure_rate *
      BinomialProbability(calls - 1, opening - 1, failure_rate);
  const Share first = FirstOfItsClump(calls, opening, failure_rate);
  const Share early = OpensWhileItFills(window, failure_rate);
  const double rate = reaches * first.value;
  const double mean = (1 - early.value) / rate;
  // The last term: that clumps are far apart is true up to a window's length.
  const double relative_error =
      std::hypot(first.standard_error / first.value,
                 early.standard_error / (1 - early.value), calls * rate);
  return {mean, mean * relative_error};
}

}  // namespace grpc_resilience::internal

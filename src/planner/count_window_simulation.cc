#include "planner/count_window_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/count_window.h"
#include "planner/binomial.h"
#include "planner/count_window_rarely.h"
#include "planner/seeded_calls.h"
#include "planner/window_rule.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::int64_t kCalls = 20'000'000;
constexpr std::int64_t kWindows = 1000;
constexpr int kEnoughOpens = 10'000;  // 1 % of error
constexpr int kFewestOpens = 400;     // 5 % of error
// A full window above the threshold less often than this is a rare one.
constexpr double kRare = 0.01;

// The window from empty to open, again and again.
class Runs {
 public:
  Runs(const PlannedCountWindow& window, double failure_rate)
      : rule_(window), calls_(failure_rate), window_(window.window_calls) {}

  void Run() {
    const std::int64_t calls =
        std::max(kCalls, kWindows * std::int64_t{rule_.window_calls});
    std::int64_t begun = 0;
    for (std::int64_t call = 1; call <= calls && opens_ < kEnoughOpens;
         ++call) {
      const bool failed = calls_.NextFails();
      window_.Add(failed);
      if (!failed || window_.count() < rule_.minimum_calls ||
          window_.failure_rate() < rule_.failure_rate_threshold) {
        continue;
      }
      AddRun(static_cast<double>(call - begun));
      begun = call;
      window_.Clear();
    }
    // A last run that long is of another kind than those before: they opened
    // while the window filled, this one didn't.
    stuck_ = opens_ < kEnoughOpens && calls - begun > calls / 10;
  }

  bool IsConclusive() const { return opens_ >= kFewestOpens && !stuck_; }

  CallsToOpen Result() const {
    const double variance = squares_ / (opens_ - 1.0);
    return {mean_, std::sqrt(variance / opens_)};
  }

 private:
  void AddRun(double length) {  // Welford
    ++opens_;
    const double off = length - mean_;
    mean_ += off / opens_;
    squares_ += off * (length - mean_);
  }

  const PlannedCountWindow& rule_;
  SeededCalls calls_;
  CountWindow window_;
  bool stuck_ = false;
  int opens_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace

CallsToOpen SimulatedCallsToOpen(const PlannedCountWindow& window,
                                 double failure_rate) {
  if (failure_rate <= 0) return {std::numeric_limits<double>::infinity()};
  Runs runs(window, failure_rate);
  runs.Run();
  const double above_threshold = BinomialUpperTail(
      window.window_calls,
      FailuresThatOpen(window.window_calls, window.failure_rate_threshold),
      failure_rate);
  if (runs.IsConclusive() || above_threshold > kRare) return runs.Result();
  return CallsToOpenRarely(window, failure_rate);
}

}  // namespace grpc_resilience::internal

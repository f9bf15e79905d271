// What the demo prints while it runs: one line a second, and one for each
// event.

#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "call_log.h"
#include "grpc_resilience/circuit_breaker.h"

namespace demo {

enum class Colours { kOff, kOn };

/// This type is safe to use from several threads at once.
class Timeline {
 public:
  /// Times are printed as seconds after `start`.
  Timeline(TimePoint start, Colours colours)
      : start_(start), colours_(colours) {}

  /// What the columns mean; once, before everything else.
  void PrintLegend();
  /// A heading: what happens from now on and what to look for.
  void PrintPhase(std::string_view name, std::string_view explanation);
  /// What became of the calls that ended in the second before `at`.
  void PrintSecond(TimePoint at, const Summary& plain, const Summary& ours);
  void PrintEvent(TimePoint at, std::string_view what);
  /// A short visit to HALF_OPEN and the change that ends it share a line.
  void PrintTransition(const grpc_resilience::TransitionEvent& event);

 private:
  void PrintHeldTransition();
  std::string Coloured(std::string_view text, const char* colour) const;
  double Seconds(TimePoint at) const;

  const TimePoint start_;
  const Colours colours_;
  std::mutex mu_;
  std::string phase_;  // guarded by mu_
  /// To HALF_OPEN, not printed yet; guarded by mu_.
  std::optional<grpc_resilience::TransitionEvent> half_open_;
};

}  // namespace demo

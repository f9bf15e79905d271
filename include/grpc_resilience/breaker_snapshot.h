// What can be seen of a circuit breaker.
//
//   BreakerSnapshot now = breaker->snapshot();
//   std::cout << ToString(now.state) << ' ' << now.window_failures << " of "
//             << now.window_calls << " failed\n";

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/operator_mode.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience {

/// Why and until when calls are rejected. A value type.
struct Rejection {
  /// Until the next probe may go (until the mode ends while FORCED_OPEN has an
  /// end); zero when one is ready but others are under way.
  Duration retry_after{0};
  /// "UNAVAILABLE: connection refused": the failure that opened the breaker.
  std::string last_failure;
  /// An operator said so, not the state.
  bool forced_open = false;
  /// What the operator said.
  std::string forced_reason;
};

/// How many outcomes were ignored, by cause. A value type.
struct IgnoredCounts {
  std::array<std::uint64_t, kIgnoredCauses> by_cause{};

  std::uint64_t operator[](IgnoredCause cause) const {
    return by_cause[static_cast<std::size_t>(cause)];
  }
};

/// What a breaker in SHADOW let through although it would have rejected it.
struct ShadowCounts {
  std::uint64_t would_have_rejected = 0;
  std::uint64_t then_succeeded = 0;
};

/// What a snapshot is asked for.
enum class SnapshotParts {
  kAll,
  kWithoutTransitions,  ///< for who looks at many: they are most of the work
};

/// All there is to see, read in one go. A value type.
struct BreakerSnapshot {
  BreakerKey key;
  State state = State::kClosed;
  std::uint64_t generation = 0;
  /// OPEN and its time is over: the next call is let through as a probe.
  bool probe_ready = false;
  /// OPEN: until then; zero when probe_ready.
  Duration retry_after{0};
  /// Of the last change of state; before the first, when the breaker was made.
  TimePoint since;

  /// In force now; kAuto as soon as the time of another one is over.
  OperatorMode mode = OperatorMode::kAuto;
  /// What the operator said; empty with kAuto.
  std::string mode_reason;
  /// Unset: for good.
  std::optional<Duration> mode_ends_in;
  /// Since the breaker was made.
  ShadowCounts shadow;

  /// Outcomes in the window since the last change of state, or since FORCED_CLOSED
  /// ended; 0 without a window.
  int window_calls = 0;
  int window_failures = 0;
  int window_slow = 0;
  /// Shares of window_calls; unset while the window is empty.
  std::optional<double> failure_rate;
  std::optional<double> slow_call_rate;
  /// In a row, up to now; 0 without the rule.
  int consecutive_failures = 0;
  /// In the bucket.
  double tokens = 0;

  int probes_in_flight = 0;
  int probes_succeeded = 0;
  /// HALF_OPEN: the share of the calls that the ramp lets through now.
  std::optional<double> ramp_share;
  /// Since the breaker was made.
  std::uint64_t rejected = 0;
  IgnoredCounts ignored;
  /// The failure that opened the breaker last; empty before, and after Reset.
  std::string last_failure;
  /// The last transitions, oldest first, at most 32.
  std::vector<TransitionEvent> transitions;
};

}  // namespace grpc_resilience

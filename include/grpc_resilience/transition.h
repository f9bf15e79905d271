// What a circuit breaker reports of itself: its key, its states, and each
// change from one to another.
//
//   class Log : public TransitionSink {
//     void OnTransition(const TransitionEvent& e) override {
//       // "payments:443 CLOSED -> OPEN: 3 failures of the last 6 calls"
//       Write(e.key.target, ToString(e.from), ToString(e.to), e.why);
//     }
//   };

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/operator_mode.h"

namespace grpc_resilience {

enum class State { kClosed = 0, kOpen = 1, kHalfOpen = 2 };

/// "CLOSED", "OPEN", "HALF_OPEN".
std::string_view ToString(State state);

/// What a breaker stands for. `method` is empty with BreakerScope::kTarget. With
/// kKeyFunction only `custom` is set, so it can't be taken for a target.
struct BreakerKey {
  std::string target;
  std::string method;
  std::string custom = {};

  friend bool operator==(const BreakerKey& a, const BreakerKey& b) {
    return std::tie(a.target, a.method, a.custom) ==
           std::tie(b.target, b.method, b.custom);
  }
  friend bool operator<(const BreakerKey& a, const BreakerKey& b) {
    return std::tie(a.target, a.method, a.custom) <
           std::tie(b.target, b.method, b.custom);
  }
  template <typename H>
  friend H AbslHashValue(H h, const BreakerKey& key) {
    return H::combine(std::move(h), key.target, key.method, key.custom);
  }
};

/// Why a transition happened.
enum class TransitionReason {
  kTripRule,
  kServerHint,  ///< BreakerPolicy::max_hinted_open_duration
  kOpenTimeOver,
  kProbeFailed,
  kProbesSucceeded,
  kReset,       ///< by an operator
  kModeForced,  ///< an operator changed the mode; the state is the same
  kModeOver,    ///< the time of a forced mode is over; the state is the same
};

std::string_view ToString(TransitionReason reason);

/// One change of state, or of the operator's mode. A value type.
struct TransitionEvent {
  BreakerKey key;
  State from = State::kClosed;
  State to = State::kClosed;
  TransitionReason reason = TransitionReason::kTripRule;
  /// In force from now on.
  OperatorMode mode = OperatorMode::kAuto;
  /// In words, with figures: "3 failures of the last 6 calls", "12 of 20 failed in
  /// 10 s", "5 failures in a row", "the server asked for 30 s", "15 s passed", "probe failed", "2 probes
  /// succeeded", "FORCED_OPEN for 60 s: database is being moved".
  std::string why;
  /// The generation that starts with this transition; each is one more than the
  /// one before, so events of a breaker chain without gaps.
  std::uint64_t generation = 0;
  TimePoint at;
};

/// Hears of transitions in order, each exactly once, never under the breaker's
/// lock. Called on the thread that caused the transition: an implementation
/// hands long work to another thread. This type is safe to use from several
/// threads.
class TransitionSink {
 public:
  virtual ~TransitionSink() = default;
  virtual void OnTransition(const TransitionEvent& event) = 0;
};

}  // namespace grpc_resilience

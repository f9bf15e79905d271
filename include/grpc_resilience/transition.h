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
#include <utility>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

enum class State { kClosed = 0, kOpen = 1, kHalfOpen = 2 };

/// "CLOSED", "OPEN", "HALF_OPEN".
std::string_view ToString(State state);

/// What a breaker stands for. `method` is empty with BreakerScope::kTarget.
struct BreakerKey {
  std::string target;
  std::string method;

  friend bool operator==(const BreakerKey& a, const BreakerKey& b) {
    return a.target == b.target && a.method == b.method;
  }
  friend bool operator<(const BreakerKey& a, const BreakerKey& b) {
    return a.target != b.target ? a.target < b.target : a.method < b.method;
  }
  template <typename H>
  friend H AbslHashValue(H h, const BreakerKey& key) {
    return H::combine(std::move(h), key.target, key.method);
  }
};

/// Why a transition happened.
enum class TransitionReason {
  kTripRule,
  kOpenTimeOver,
  kProbeFailed,
  kProbesSucceeded,
  kReset,  ///< by an operator
};

std::string_view ToString(TransitionReason reason);

/// One change of state. A value type.
struct TransitionEvent {
  BreakerKey key;
  State from = State::kClosed;
  State to = State::kClosed;
  TransitionReason reason = TransitionReason::kTripRule;
  /// In words, with figures: "3 failures of the last 6 calls", "15 s passed",
  /// "probe failed", "2 probes succeeded".
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

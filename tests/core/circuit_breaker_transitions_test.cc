#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "core/circuit_breaker_fixture.h"
#include "core/legal_transitions.h"

namespace grpc_resilience {
namespace {

using std::chrono::seconds;

constexpr State kStates[] = {State::kClosed, State::kOpen, State::kHalfOpen};
constexpr TransitionReason kReasons[] = {
    TransitionReason::kTripRule,        TransitionReason::kServerHint,
    TransitionReason::kOpenTimeOver,    TransitionReason::kProbeFailed,
    TransitionReason::kProbesSucceeded, TransitionReason::kReset,
    TransitionReason::kModeForced,      TransitionReason::kModeOver};

TEST(LegalTransitionsTest, CrossProductHoldsTheseAndNoOther) {
  std::vector<std::string> legal;
  for (State from : kStates) {
    for (State to : kStates) {
      for (TransitionReason reason : kReasons) {
        if (!internal::IsLegal(from, to, reason)) continue;
        legal.push_back(std::string(ToString(from)) + ">" +
                        std::string(ToString(to)) + " " +
                        std::string(ToString(reason)));
      }
    }
  }
  EXPECT_EQ(legal, (std::vector<std::string>{
                       "CLOSED>CLOSED MODE_FORCED",
                       "CLOSED>CLOSED MODE_OVER",
                       "CLOSED>OPEN TRIP_RULE",
                       "CLOSED>OPEN SERVER_HINT",
                       "OPEN>CLOSED RESET",
                       "OPEN>OPEN MODE_FORCED",
                       "OPEN>OPEN MODE_OVER",
                       "OPEN>HALF_OPEN OPEN_TIME_OVER",
                       "HALF_OPEN>CLOSED PROBES_SUCCEEDED",
                       "HALF_OPEN>CLOSED RESET",
                       "HALF_OPEN>OPEN TRIP_RULE",
                       "HALF_OPEN>OPEN SERVER_HINT",
                       "HALF_OPEN>OPEN PROBE_FAILED",
                       "HALF_OPEN>HALF_OPEN MODE_FORCED",
                       "HALF_OPEN>HALF_OPEN MODE_OVER",
                   }));
}

enum class Stimulus { kSuccess, kFailure, kIgnored, kTimeOver, kReset };

struct Row {
  std::string name;
  State from;
  Stimulus stimulus;
  State to;
  std::string why;  // empty: no transition
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class CircuitBreakerTransitionsTest
    : public CircuitBreakerFixture,
      public ::testing::WithParamInterface<Row> {
 protected:
  /// A breaker for which each stimulus is enough for a transition.
  void Enter(State state) {
    Make(TouchyPolicy());
    if (state == State::kClosed) return;
    Fail();
    if (state == State::kOpen) return;
    clock_.Advance(seconds(1));
    Call(Outcome::kIgnored);
  }

  void Apply(Stimulus stimulus) {
    switch (stimulus) {
      case Stimulus::kSuccess:
        Call(Outcome::kSuccess);
        return;
      case Stimulus::kFailure:
        Call(Outcome::kFailure);
        return;
      case Stimulus::kIgnored:
        Call(Outcome::kIgnored);
        return;
      case Stimulus::kTimeOver:
        clock_.Advance(seconds(1));
        Call(Outcome::kIgnored);
        return;
      case Stimulus::kReset:
        breaker_->Reset();
        return;
    }
  }
};

TEST_P(CircuitBreakerTransitionsTest, LeadsToTheStateOfTheTable) {
  const Row& row = GetParam();
  Enter(row.from);
  ASSERT_EQ(state(), row.from);
  const std::uint64_t generation = Snapshot().generation;
  const std::size_t events = sink_.events().size();

  Apply(row.stimulus);

  EXPECT_EQ(state(), row.to);
  if (row.why.empty()) {
    EXPECT_EQ(sink_.events().size(), events);
    EXPECT_EQ(Snapshot().generation, generation);
    return;
  }
  ASSERT_EQ(sink_.events().size(), events + 1);
  const TransitionEvent event = sink_.events().back();
  EXPECT_EQ(event.from, row.from);
  EXPECT_EQ(event.to, row.to);
  EXPECT_EQ(event.why, row.why);
  EXPECT_EQ(event.generation, generation + 1);  // exactly one
  EXPECT_EQ(event.at, clock_.Now());
  EXPECT_EQ(event.key, breaker_->key());
  EXPECT_EQ(Snapshot().generation, event.generation);
  EXPECT_EQ(Snapshot().since, clock_.Now());
}

INSTANTIATE_TEST_SUITE_P(
    All, CircuitBreakerTransitionsTest,
    ::testing::Values(
        Row{"ClosedSuccess", State::kClosed, Stimulus::kSuccess, State::kClosed,
            ""},
        Row{"ClosedFailure", State::kClosed, Stimulus::kFailure, State::kOpen,
            "1 failure of the last 1 call"},
        Row{"ClosedIgnored", State::kClosed, Stimulus::kIgnored, State::kClosed,
            ""},
        Row{"ClosedTimeOver", State::kClosed, Stimulus::kTimeOver,
            State::kClosed, ""},
        Row{"ClosedReset", State::kClosed, Stimulus::kReset, State::kClosed,
            ""},
        Row{"OpenSuccess", State::kOpen, Stimulus::kSuccess, State::kOpen, ""},
        Row{"OpenFailure", State::kOpen, Stimulus::kFailure, State::kOpen, ""},
        Row{"OpenIgnored", State::kOpen, Stimulus::kIgnored, State::kOpen, ""},
        Row{"OpenTimeOver", State::kOpen, Stimulus::kTimeOver, State::kHalfOpen,
            "1 s passed"},
        Row{"OpenReset", State::kOpen, Stimulus::kReset, State::kClosed,
            "reset"},
        Row{"HalfOpenSuccess", State::kHalfOpen, Stimulus::kSuccess,
            State::kClosed, "1 probe succeeded"},
        Row{"HalfOpenFailure", State::kHalfOpen, Stimulus::kFailure,
            State::kOpen, "probe failed"},
        Row{"HalfOpenIgnored", State::kHalfOpen, Stimulus::kIgnored,
            State::kHalfOpen, ""},
        Row{"HalfOpenTimeOver", State::kHalfOpen, Stimulus::kTimeOver,
            State::kHalfOpen, ""},
        Row{"HalfOpenReset", State::kHalfOpen, Stimulus::kReset, State::kClosed,
            "reset"}),
    [](const auto& tested) { return tested.param.name; });

TEST(TransitionNamesTest, AreThoseOfTheDocumentation) {
  EXPECT_EQ(ToString(State::kClosed), "CLOSED");
  EXPECT_EQ(ToString(State::kOpen), "OPEN");
  EXPECT_EQ(ToString(State::kHalfOpen), "HALF_OPEN");
  EXPECT_EQ(ToString(static_cast<State>(42)), "UNKNOWN");
  EXPECT_EQ(ToString(static_cast<TransitionReason>(42)), "UNKNOWN");
}

}  // namespace
}  // namespace grpc_resilience

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::seconds;
using Lines = std::vector<std::string>;

/// Remembers, then does what the test wants.
class ActingSink : public RecordingSink {
 public:
  void OnTransition(const TransitionEvent& event) override {
    RecordingSink::OnTransition(event);
    if (act) act(event);
  }
  std::function<void(const TransitionEvent&)> act;
};

class CircuitBreakerEventsTest : public CircuitBreakerFixture {
 protected:
  void MakeActing(const BreakerPolicy& policy) {
    breaker_ = std::make_unique<CircuitBreaker>(
        BreakerKey{"payments:443", "/a.B/C"}, policy, RetryThrottlePolicy(),
        clock_, random_, &acting_);
  }
  void ExpectChain() const {
    const auto events = acting_.events();
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].generation, i + 1);
      if (i > 0) {
        EXPECT_EQ(events[i].from, events[i - 1].to);
      }
    }
  }

  ActingSink acting_;
};

TEST_F(CircuitBreakerEventsTest, TellsAWholeRoundInOrder) {
  Make(WindowPolicy());
  Succeed(3);
  Fail(3);
  clock_.Advance(seconds(20));
  Fail(1);
  clock_.Advance(seconds(15));
  Succeed(2);
  EXPECT_EQ(sink_.lines(),
            (Lines{"CLOSED -> OPEN: 3 failures of the last 6 calls",
                   "OPEN -> HALF_OPEN: 15 s passed",
                   "HALF_OPEN -> OPEN: probe failed",
                   "OPEN -> HALF_OPEN: 15 s passed",
                   "HALF_OPEN -> CLOSED: 2 probes succeeded"}));
}

TEST_F(CircuitBreakerEventsTest, SnapshotKeepsTheLast32) {
  Make(TouchyPolicy());
  for (int round = 0; round < 40; ++round) {
    Fail(1);
    clock_.Advance(seconds(1));
  }
  const auto kept = Snapshot().transitions;
  const auto heard = sink_.events();
  ASSERT_EQ(kept.size(), 32u);
  EXPECT_EQ(kept.back().generation, heard.back().generation);
  EXPECT_EQ(kept.front().generation, heard.back().generation - 31);
  EXPECT_EQ(kept.back().key, breaker_->key());
}

// D16
TEST_F(CircuitBreakerEventsTest, SinkMayAskAndResetTheBreaker) {
  MakeActing(TouchyPolicy());
  std::vector<State> seen;
  acting_.act = [&](const TransitionEvent& event) {
    seen.push_back(breaker_->state());
    EXPECT_EQ(breaker_->snapshot().generation, breaker_->snapshot().generation);
    breaker_->rejection();
    breaker_->TryAcquire();
    if (event.to == State::kOpen) breaker_->Reset();
  };
  Fail(1);
  EXPECT_EQ(seen, (std::vector<State>{State::kOpen, State::kClosed}));
  EXPECT_EQ(acting_.lines(),
            (Lines{"CLOSED -> OPEN: 1 failure of the last 1 call",
                   "OPEN -> CLOSED: reset"}));
  ExpectChain();
}

// D16
TEST_F(CircuitBreakerEventsTest, ThrowingSinkHarmsNobodyAndMissesNothing) {
  MakeActing(TouchyPolicy());
  acting_.act = [](const TransitionEvent&) { throw std::runtime_error("no"); };
  EXPECT_NO_THROW(Fail(1));
  clock_.Advance(seconds(1));
  EXPECT_NO_THROW(Succeed(1));
  EXPECT_EQ(acting_.events().size(), 3u);
  ExpectChain();
}

// D16
TEST_F(CircuitBreakerEventsTest, NobodyElseWaitsForASlowSink) {
  MakeActing(TouchyPolicy());
  absl::Notification entered;
  absl::Notification leave;
  acting_.act = [&](const TransitionEvent& event) {
    if (event.generation != 1) return;
    entered.Notify();
    leave.WaitForNotification();
  };
  std::thread slow([&] { Fail(1); });
  entered.WaitForNotification();
  // All of this would hang if anyone waited for the sink.
  EXPECT_FALSE(Acquire().has_value());
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(Snapshot().rejected, 1u);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(Succeed());  // two more transitions, left to the first thread
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(acting_.events().size(), 1u);
  leave.Notify();
  slow.join();
  EXPECT_EQ(acting_.events().size(), 3u);
  ExpectChain();
}

TEST_F(CircuitBreakerEventsTest, WorksWithoutASink) {
  breaker_ = std::make_unique<CircuitBreaker>(
      BreakerKey{"a", ""}, TouchyPolicy(), RetryThrottlePolicy(), clock_,
      random_, nullptr);
  Fail(1);
  EXPECT_EQ(Snapshot().transitions.size(), 1u);
}

}  // namespace
}  // namespace grpc_resilience

#include "grpc_resilience/testing/recording_observer.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace grpc_resilience {
namespace {

TEST(RecordingObserverTest, OwnsWhatTheViewsNamed) {
  RecordingObserver observer;
  {
    const std::string target(100, 't');
    const std::string method(100, 'm');
    AttemptEvent attempt;
    attempt.target = target;
    attempt.method = method;
    attempt.number = 2;
    attempt.code = StatusCode::UNAVAILABLE;
    attempt.classification.outcome = Outcome::kFailure;
    attempt.duration = std::chrono::milliseconds(5);
    observer.OnAttemptEnd(attempt);
    CallEvent call;
    call.target = target;
    call.method = method;
    call.attempts = 3;
    call.code = StatusCode::UNAVAILABLE;
    call.reason = StopReason::kRetriesExhausted;
    call.duration = std::chrono::milliseconds(7);
    observer.OnCallEnd(call);
  }
  ASSERT_EQ(observer.attempts().size(), 1u);
  const RecordedAttempt attempt = observer.attempts()[0];
  EXPECT_EQ(attempt.target, std::string(100, 't'));
  EXPECT_EQ(attempt.method, std::string(100, 'm'));
  EXPECT_EQ(attempt.number, 2);
  EXPECT_EQ(attempt.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(attempt.classification.outcome, Outcome::kFailure);
  EXPECT_EQ(attempt.duration, std::chrono::milliseconds(5));
  ASSERT_EQ(observer.calls().size(), 1u);
  const RecordedCall call = observer.calls()[0];
  EXPECT_EQ(call.target, std::string(100, 't'));
  EXPECT_EQ(call.method, std::string(100, 'm'));
  EXPECT_EQ(call.attempts, 3);
  EXPECT_EQ(call.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(call.duration, std::chrono::milliseconds(7));
}

TEST(RecordingObserverTest, ClearForgetsEverything) {
  RecordingObserver observer;
  observer.OnAttemptEnd({});
  observer.OnCallEnd({});
  observer.OnTransition({});
  observer.OnNotice({});
  EXPECT_EQ(observer.transitions().size(), 1u);
  EXPECT_EQ(observer.notices().size(), 1u);
  observer.Clear();
  EXPECT_TRUE(observer.attempts().empty());
  EXPECT_TRUE(observer.calls().empty());
  EXPECT_TRUE(observer.transitions().empty());
  EXPECT_TRUE(observer.notices().empty());
}

TEST(RecordingObserverTest, LosesNothingFromSeveralThreads) {
  RecordingObserver observer;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 500; ++j) {
        observer.OnCallEnd({});
        if (j % 100 == 0) (void)observer.calls();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(observer.calls().size(), 4000u);
}

}  // namespace
}  // namespace grpc_resilience

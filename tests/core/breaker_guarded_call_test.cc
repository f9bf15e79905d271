#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/circuit_breaker_fixture.h"
#include "grpc_resilience/guarded_call.h"

namespace grpc_resilience {
namespace {

class GuardedCallTest : public testing::Test {
 protected:
  // Opens at the first failure.
  static BreakerPolicy Policy() {
    BreakerPolicy policy;
    policy.consecutive_failures = 1;
    policy.open_duration = std::chrono::seconds(10);
    return policy;
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
  CircuitBreaker breaker_{{"db", ""}, Policy(), RetryThrottlePolicy(),
                          clock_,     random_,  nullptr};
};

TEST_F(GuardedCallTest, ReturnsWhatTheCallReturns) {
  EXPECT_TRUE(GuardedCall(breaker_, [] { return absl::OkStatus(); }).ok());
  const absl::StatusOr<std::string> row = GuardedCall(
      breaker_, []() -> absl::StatusOr<std::string> { return "7"; });
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(*row, "7");
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(GuardedCallTest, AFailureOpensAndTheNextCallIsNotMade) {
  const absl::Status failed = GuardedCall(
      breaker_, [] { return absl::InternalError("no such table"); });
  EXPECT_EQ(failed.message(), "no such table");
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(breaker_.snapshot().last_failure, "INTERNAL: no such table");
  bool called = false;
  const absl::Status rejected = GuardedCall(breaker_, [&] {
    called = true;
    return absl::OkStatus();
  });
  EXPECT_FALSE(called);
  EXPECT_EQ(rejected.code(), absl::StatusCode::kUnavailable);
}

TEST_F(GuardedCallTest, AnsweredAndCancelledAreNoFailures) {
  EXPECT_EQ(GuardedCall(breaker_, [] { return absl::NotFoundError("no"); }),
            absl::NotFoundError("no"));
  EXPECT_EQ(GuardedCall(breaker_, [] { return absl::CancelledError("no"); }),
            absl::CancelledError("no"));
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(GuardedCallTest, AJudgeDecides) {
  const auto by_size = [](const std::string& text) {
    return text.empty() ? Outcome::kFailure : Outcome::kSuccess;
  };
  EXPECT_EQ(GuardedCall(
                breaker_, [] { return std::string("full"); }, by_size),
            "full");
  EXPECT_EQ(GuardedCall(
                breaker_, [] { return std::string(); }, by_size),
            "");
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(GuardedCall(
                breaker_, [] { return std::string("full"); }, by_size),
            std::nullopt);
}

TEST_F(GuardedCallTest, WhatTheCallThrowsIsAFailureAndGoesOn) {
  const auto throws = []() -> absl::Status {
    throw std::runtime_error("lost");
  };
  EXPECT_THROW(static_cast<void>(GuardedCall(breaker_, throws)),
               std::runtime_error);
  EXPECT_EQ(breaker_.state(), State::kOpen);
}

}  // namespace
}  // namespace grpc_resilience

// A Resilience object on a clock of the test's, whose breakers open after three
// failures in a row and stay open for 10 s.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "admin/handlers.h"
#include "admin/messages.h"
#include "admin/outcome_recorder.h"
#include "grpc_resilience/resilience.h"
#include "grpc_resilience/testing/fake_clock.h"

namespace grpc_resilience::internal {

using std::chrono::minutes;
using std::chrono::seconds;

class AdminFixture : public testing::Test {
 protected:
  static constexpr int kFailuresToOpen = 3;

  explicit AdminFixture(Config config = ThreeInARow())
      : resilience_(Make(std::move(config))) {}

  static Config ThreeInARow() {
    Config config;
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.consecutive_failures = kFailuresToOpen;
    breaker.open_duration = seconds(10);
    return config;
  }
  std::shared_ptr<Resilience> Make(Config config) {
    Resilience::Ports ports;
    ports.clock = &clock_;
    auto resilience = Resilience::Create(std::move(config), ports);
    EXPECT_TRUE(resilience.ok()) << resilience.status();
    return *std::move(resilience);
  }

  std::shared_ptr<CircuitBreaker> Breaker(const std::string& target,
                                          const std::string& method = "") {
    return resilience_->registry().GetOrCreate({target, method});
  }
  static void Fail(CircuitBreaker& breaker) {
    if (auto permit = breaker.TryAcquire()) {
      permit->Record(Outcome::kFailure, StatusCode::UNAVAILABLE, "refused");
    }
  }
  void Open(const std::string& target, const std::string& method = "") {
    const auto breaker = Breaker(target, method);
    for (int i = 0; i < kFailuresToOpen; ++i) Fail(*breaker);
    EXPECT_EQ(breaker->state(), State::kOpen);
  }

  static pb::BreakerKey Key(const std::string& target,
                            const std::string& method = "") {
    return ToProto(BreakerKey{target, method});
  }

  FakeClock clock_;
  const std::shared_ptr<Resilience> resilience_;
  const std::shared_ptr<OutcomeRecorder> recorder_ =
      std::make_shared<OutcomeRecorder>(resilience_, 2);
  const ReadHandlers read_{resilience_, recorder_};
  const ChangeHandlers change_{resilience_, recorder_};
};

}  // namespace grpc_resilience::internal

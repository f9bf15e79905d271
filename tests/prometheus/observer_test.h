// The fixture of the observer's tests: a Resilience on a fake clock, without
// channels, and the events that an adapter would tell.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "grpc_resilience/metric_names.h"
#include "grpc_resilience/prometheus_observer.h"
#include "grpc_resilience/resilience.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "prometheus/sample_reader.h"

namespace grpc_resilience::test {

class ObserverTest : public testing::Test {
 protected:
  using Observer = std::shared_ptr<PrometheusObserver>;

  std::shared_ptr<Resilience> NewResilience(Config config = {}) {
    Resilience::Ports ports;
    ports.clock = clock_.get();
    ports.random = &random_;
    ports.timer = clock_;
    auto resilience = Resilience::Create(std::move(config), ports);
    EXPECT_TRUE(resilience.ok()) << resilience.status();
    return *std::move(resilience);
  }
  static Observer NewObserver(const std::shared_ptr<Resilience>& resilience,
                              const PrometheusOptions& options = {}) {
    auto observer = PrometheusObserver::Create(resilience, options);
    EXPECT_TRUE(observer.ok()) << observer.status();
    return *std::move(observer);
  }

  static AttemptEvent Attempt(std::string_view method, int number = 1,
                              StatusCode code = StatusCode::OK,
                              Duration duration = Duration(1000)) {
    AttemptEvent event;
    event.target = "a:1";
    event.method = method;
    event.number = number;
    event.code = code;
    event.duration = duration;
    return event;
  }
  static CallEvent Call(std::string_view method,
                        StatusCode code = StatusCode::OK,
                        StopReason reason = StopReason::kOk,
                        Duration duration = Duration(1000)) {
    CallEvent event;
    event.target = "a:1";
    event.method = method;
    event.code = code;
    event.reason = reason;
    event.duration = duration;
    return event;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  FixedRandom random_{0.5};
};

}  // namespace grpc_resilience::test

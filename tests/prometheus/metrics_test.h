// The fixture of tests that look at what real calls count.

#pragma once

#include <memory>
#include <utility>

#include "grpc_resilience/metric_names.h"
#include "grpc_resilience/prometheus_observer.h"
#include "prometheus/sample_reader.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {

class MetricsTest : public WayTest {
 protected:
  static std::shared_ptr<PrometheusObserver> NewObserver(
      const std::shared_ptr<Resilience>& resilience) {
    PrometheusOptions options;
    options.targets = {backend().target()};
    options.methods = {MethodName(EchoMethod::kIdempotent)};
    auto observer = PrometheusObserver::Create(resilience, options);
    EXPECT_TRUE(observer.ok()) << observer.status();
    return *std::move(observer);
  }
  static LabelValues Labels(const char* code = nullptr) {
    LabelValues labels = {{"target", backend().target()},
                          {"method", MethodName(EchoMethod::kIdempotent)}};
    if (code != nullptr) labels["code"] = code;
    return labels;
  }
};

}  // namespace grpc_resilience::test

// Counts every allocation of its program, so it is a program of its own.

#include <gtest/gtest.h>

#include <cstdint>

#include "prometheus/observer_test.h"
#include "support/allocation/counting_allocator.h"

namespace grpc_resilience::test {
namespace {

class PrometheusObserverAllocationTest : public ObserverTest {};

TEST_F(PrometheusObserverAllocationTest, CountingAllocatesNothing) {
  Config config;
  config.Method("/shop.Inventory/Get");
  config.Target("a:1");
  const auto resilience = NewResilience(config);
  PrometheusOptions options;
  options.max_targets = 2;
  options.max_pairs = 2;
  const Observer observer = NewObserver(resilience, options);
  const auto count = [&observer](std::string_view target,
                                 std::string_view method) {
    AttemptEvent attempt = Attempt(method);
    attempt.target = target;
    CallEvent call = Call(method);
    call.target = target;
    observer->OnAttemptEnd(attempt);
    observer->OnCallEnd(call);
  };
  const auto count_all = [&count] {
    count("a:1", "/shop.Inventory/Get");
    count("a:1", "/some.Method/ThatNobodyNamed");
    count("a target that is one too many:1", "/shop.Inventory/Get");
  };
  count_all();  // may make series
  count("another target that is one too many:1", "/x/y");
  const std::int64_t before = AllocationsOfThisThread();
  count_all();
  EXPECT_EQ(AllocationsOfThisThread() - before, 0);
}

}  // namespace
}  // namespace grpc_resilience::test

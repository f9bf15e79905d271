#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/config_validation.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string FaultsOf(const std::function<void(MethodPolicy&)>& change) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  policy.hedging.emplace();
  change(policy);
  return std::string(ValidateConfig(config).message());
}

TEST(ConfigValidationHedgingTest, TheDefaultsAreValid) {
  EXPECT_EQ(FaultsOf([](MethodPolicy&) {}), "");
  EXPECT_EQ(FaultsOf([](MethodPolicy& m) {
              m.hedging->hedging_delay = Duration::zero();
              m.hedging->delay_quantile = 0.999;
              m.hedging->non_fatal_status_codes = {};
            }),
            "");
}

TEST(ConfigValidationHedgingTest, NamesEachBadField) {
  struct Case {
    std::function<void(MethodPolicy&)> change;
    std::string fault;
  };
  const std::vector<Case> cases = {
      {[](auto& m) { m.hedging->max_hedged_attempts = 1; },
       "hedging.max_hedged_attempts = 1: must be >= 2"},
      {[](auto& m) { m.hedging->max_hedged_attempts = -5; },
       "hedging.max_hedged_attempts = -5: must be >= 2"},
      {[](auto& m) { m.hedging->hedging_delay = milliseconds(-1); },
       "hedging.hedging_delay = -1 ms: must be >= 0"},
      {[](auto& m) { m.hedging->delay_quantile = 0.0; },
       "hedging.delay_quantile = 0: must be in (0, 1)"},
      {[](auto& m) { m.hedging->delay_quantile = 1.0; },
       "hedging.delay_quantile = 1: must be in (0, 1)"},
      {[](auto& m) {
         m.hedging->delay_quantile = std::numeric_limits<double>::quiet_NaN();
       },
       "hedging.delay_quantile = nan: must be in (0, 1)"},
      {[](auto& m) { m.hedging->delay_minimum_calls = 0; },
       "hedging.delay_minimum_calls = 0: must be in [1, 1000]"},
      {[](auto& m) { m.hedging->non_fatal_status_codes = {StatusCode::OK}; },
       "hedging.non_fatal_status_codes contains OK: ends every call"},
      {[](auto& m) {
         m.hedging->non_fatal_status_codes = {StatusCode::CANCELLED};
       },
       "hedging.non_fatal_status_codes contains CANCELLED: ends every call"},
      {[](auto& m) {
         m.hedging->non_fatal_status_codes = {static_cast<StatusCode>(31)};
       },
       "hedging.non_fatal_status_codes contains CODE_31: not a gRPC status "
       "code"},
      {[](auto& m) { m.retry.idempotency = Idempotency::kNonIdempotent; },
       "hedging = set: contradicts retry.idempotency = kNonIdempotent"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(FaultsOf(c.change), "method \"/a.B/C\": " + c.fault);
  }
}

TEST(ConfigValidationHedgingTest, HintedOpenTime) {
  Config config;
  config.Target("t:1").breaker.max_hinted_open_duration = seconds(0);
  EXPECT_EQ(
      ValidateConfig(config).message(),
      "target \"t:1\": breaker.max_hinted_open_duration = 0 s: must be > 0");
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "interceptor/recovery_worker.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using namespace std::chrono_literals;

TEST(ReconnectPeriodTest, IsAnEighthOfASecond) {
  EXPECT_EQ(ReconnectPeriod(0s, 1), 125ms);
  EXPECT_EQ(ReconnectPeriod(10min, 125), 125ms);
}

TEST(ReconnectPeriodTest, GrowsInALongOutage) {
  EXPECT_EQ(ReconnectPeriod(10min + 1ns, 1), 1s);
}

TEST(ReconnectPeriodTest, AllChannelsTogetherKeepToTheBudget) {
  EXPECT_EQ(ReconnectPeriod(0s, 126), 126ms);
  EXPECT_EQ(ReconnectPeriod(0s, 1000), 1s);
  EXPECT_EQ(ReconnectPeriod(11min, 5000), 5s);
}

}  // namespace
}  // namespace grpc_resilience::internal

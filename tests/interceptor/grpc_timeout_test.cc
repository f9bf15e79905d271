#include "interceptor/grpc_timeout.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using namespace std::chrono_literals;

TEST(GrpcTimeoutTest, TakesTheFinestUnitThatFitsInEightDigits) {
  EXPECT_EQ(GrpcTimeoutText(250ms), "250000u");
  EXPECT_EQ(GrpcTimeoutText(99'999'999us), "99999999u");
  EXPECT_EQ(GrpcTimeoutText(100s), "100000m");
  EXPECT_EQ(GrpcTimeoutText(99'999'999ms), "99999999m");
  EXPECT_EQ(GrpcTimeoutText(28h), "100800S");
}

TEST(GrpcTimeoutTest, RoundsUp) {
  EXPECT_EQ(GrpcTimeoutText(1ns), "1u");
  EXPECT_EQ(GrpcTimeoutText(1001ns), "2u");
  EXPECT_EQ(GrpcTimeoutText(100s + 1us), "100001m");
}

TEST(GrpcTimeoutTest, StaysInRangeAtBothEnds) {
  EXPECT_EQ(GrpcTimeoutText(0ns), "1u");
  EXPECT_EQ(GrpcTimeoutText(-1h), "1u");
  EXPECT_EQ(GrpcTimeoutText(Duration::max()), "99999999S");
}

}  // namespace
}  // namespace grpc_resilience::internal

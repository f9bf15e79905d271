#include "core/transition_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace grpc_resilience::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TransitionTextTest, NumbersAgreeWithTheirNouns) {
  EXPECT_EQ(WindowTrippedText(3, 6), "3 failures of the last 6 calls");
  EXPECT_EQ(WindowTrippedText(1, 1), "1 failure of the last 1 call");
  EXPECT_EQ(BucketEmptyText(16), "token bucket empty: 16 failures");
  EXPECT_EQ(BucketEmptyText(1), "token bucket empty: 1 failure");
  EXPECT_EQ(CallsRejectedText(100), "100 calls rejected");
  EXPECT_EQ(CallsRejectedText(1), "1 call rejected");
  EXPECT_EQ(ProbesSucceededText(2), "2 probes succeeded");
  EXPECT_EQ(ProbesSucceededText(1), "1 probe succeeded");
}

TEST(TransitionTextTest, TimesAreForPeople) {
  EXPECT_EQ(TimePassedText(seconds(15)), "15 s passed");
  EXPECT_EQ(TimePassedText(milliseconds(100)), "100 ms passed");
  EXPECT_EQ(TimePassedText(milliseconds(1500)), "1.5 s passed");
  EXPECT_EQ(TimePassedText(milliseconds(1042)), "1.042 s passed");
  EXPECT_EQ(TimePassedText(microseconds(93'400)), "93.4 ms passed");
  EXPECT_EQ(TimePassedText(Duration(96'123'456)), "96.123 ms passed");
  EXPECT_EQ(TimePassedText(Duration::zero()), "0 ms passed");
}

TEST(TransitionTextTest, FailureNamesTheCodeAndCutsTheMessage) {
  EXPECT_EQ(FailureText(StatusCode::UNAVAILABLE, "connection refused"),
            "UNAVAILABLE: connection refused");
  EXPECT_EQ(FailureText(StatusCode::INTERNAL, ""), "INTERNAL");
  EXPECT_EQ(FailureText(StatusCode::INTERNAL, std::string(200, 'x')),
            "INTERNAL: " + std::string(200, 'x'));
  EXPECT_EQ(FailureText(StatusCode::INTERNAL, std::string(201, 'x')),
            "INTERNAL: " + std::string(200, 'x'));
}

}  // namespace
}  // namespace grpc_resilience::internal

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

TEST(TransitionTextTest, RatesSayOfHowManyAndInWhatTime) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const WindowTotals totals{20, 12, 5};
  EXPECT_EQ(FailureRateText(totals, Duration::zero()),
            "12 failures of the last 20 calls");
  EXPECT_EQ(FailureRateText(totals, seconds(10)), "12 of 20 failed in 10 s");
  EXPECT_EQ(SlowRateText(totals, milliseconds(500), Duration::zero()),
            "5 of the last 20 calls took 500 ms or longer");
  EXPECT_EQ(SlowRateText(totals, milliseconds(500), seconds(10)),
            "5 of 20 took 500 ms or longer in 10 s");
  EXPECT_EQ(FailuresInRowText(1), "1 failure in a row");
  EXPECT_EQ(RampFailedText(50), "failed at 5 % of the calls");
  EXPECT_EQ(RampFailedText(125), "failed at 12.5 % of the calls");
}

TEST(TransitionTextTest, AForcedModeIsNamedWithItsTimeAndReason) {
  using std::chrono::seconds;
  EXPECT_EQ(ModeForcedText(OperatorMode::kShadow, std::nullopt, ""), "SHADOW");
  EXPECT_EQ(ModeForcedText(OperatorMode::kForcedOpen, seconds(60), "bob"),
            "FORCED_OPEN for 60 s: bob");
  EXPECT_EQ(
      ModeForcedText(OperatorMode::kAuto, std::nullopt, std::string(300, 'x')),
      "AUTO: " + std::string(200, 'x'));
  EXPECT_EQ(ModeOverText(OperatorMode::kForcedClosed), "FORCED_CLOSED is over");
}

}  // namespace
}  // namespace grpc_resilience::internal

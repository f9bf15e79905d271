#include "core/admission_ramp.h"

#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;

class AdmissionRampTest : public testing::Test {
 protected:
  static BreakerPolicy Ramped() {
    BreakerPolicy policy;
    policy.consecutive_failures = 5;
    policy.half_open_ramp = {0.1, 0.5};
    policy.half_open_ramp_step = seconds(10);
    return policy;
  }
  int AdmittedOf(int calls, TimePoint now) {
    int admitted = 0;
    for (int i = 0; i < calls; ++i)
      admitted += ramp_.Admit(now, rules_) ? 1 : 0;
    return admitted;
  }

  const TimePoint start_ = TimePoint(seconds(100));
  const BreakerRules rules_{Ramped(), RetryThrottlePolicy()};
  AdmissionRamp ramp_;
};

TEST_F(AdmissionRampTest, EachStepLetsItsShareThrough) {
  ramp_.Start(start_);
  EXPECT_TRUE(ramp_.active());
  EXPECT_EQ(AdmittedOf(100, start_), 10);
  EXPECT_EQ(AdmittedOf(100, start_ + seconds(10)), 50);
  EXPECT_FALSE(ramp_.OverAt(start_ + seconds(19), rules_));
  EXPECT_TRUE(ramp_.OverAt(start_ + seconds(20), rules_));
}

TEST_F(AdmissionRampTest, TheFirstCallOfAStepGoesAndIsForetold) {
  ramp_.Start(start_);
  for (const TimePoint now : {start_, start_ + seconds(10)}) {
    EXPECT_TRUE(ramp_.WouldAdmit(now, rules_));
    EXPECT_TRUE(ramp_.Admit(now, rules_));
    EXPECT_FALSE(ramp_.WouldAdmit(now, rules_));
    EXPECT_FALSE(ramp_.Admit(now, rules_));
  }
}

TEST_F(AdmissionRampTest, ASuccessCountsForItsStepAlone) {
  ramp_.Start(start_);
  EXPECT_FALSE(ramp_.HasSucceededAt(start_, rules_));
  ramp_.NoteSuccess(start_, rules_);
  EXPECT_TRUE(ramp_.HasSucceededAt(start_ + seconds(9), rules_));
  EXPECT_FALSE(ramp_.HasSucceededAt(start_ + seconds(10), rules_));
}

}  // namespace
}  // namespace grpc_resilience::internal

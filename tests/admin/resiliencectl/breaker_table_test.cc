// Breakers and transitions in words.

#include "tools/resiliencectl/breaker_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace grpc_resilience::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

pb::Breaker OpenBreaker() {
  pb::Breaker breaker;
  breaker.mutable_key()->set_target("payments:443");
  breaker.set_state(pb::OPEN);
  breaker.set_mode(pb::AUTO);
  breaker.mutable_retry_after()->set_seconds(2);
  breaker.set_last_failure("UNAVAILABLE: refused");
  breaker.set_tokens(3.5);
  breaker.set_max_tokens(16);
  breaker.set_rejected(12);
  return breaker;
}

std::string Printed(const std::vector<BreakerOf>& breakers,
                    bool with_address = false) {
  std::ostringstream out;
  BreakerTable(breakers, with_address).Print(out, false);
  return out.str();
}
std::string Printed(const pb::Breaker& breaker) {
  return Printed(std::vector<BreakerOf>{{"a:1", breaker}});
}

TEST(BreakerTableTest, AnOpenBreakerSaysWhyAndUntilWhen) {
  const std::string text = Printed(OpenBreaker());
  EXPECT_THAT(text, HasSubstr("3.5/16 tokens  12 "));
  EXPECT_THAT(text, HasSubstr("probe in 2.0 s; UNAVAILABLE: refused"));
  EXPECT_THAT(text, Not(HasSubstr("METHOD")));
  EXPECT_THAT(text, Not(HasSubstr("a:1")));
  pb::Breaker breaker = OpenBreaker();
  breaker.set_probe_ready(true);
  EXPECT_THAT(Printed(breaker), HasSubstr("next call probes"));
}

TEST(BreakerTableTest, WhatAnOperatorSaidComesFirst) {
  pb::Breaker breaker = OpenBreaker();
  breaker.set_mode(pb::SHADOW);
  breaker.set_mode_reason("alice: look");
  EXPECT_THAT(Printed(breaker),
              HasSubstr("for good: alice: look; probe in 2.0 s"));
  breaker.mutable_mode_ends_in()->set_seconds(600);
  EXPECT_THAT(Printed(breaker), HasSubstr("for another 10 min: alice: look"));
  // No call will be a probe.
  breaker.set_mode(pb::FORCED_OPEN);
  EXPECT_THAT(Printed(breaker), Not(HasSubstr("probe")));
}

TEST(BreakerTableTest, CountsAreThoseOfTheRule) {
  pb::Breaker breaker = OpenBreaker();
  breaker.set_consecutive_failures(4);
  EXPECT_THAT(Printed(breaker), HasSubstr("4 failed in a row"));
  breaker.set_failure_rate(0.25);
  breaker.set_window_calls(20);
  breaker.set_window_failures(5);
  EXPECT_THAT(Printed(breaker), HasSubstr("5/20 failed 25 %"));
}

TEST(BreakerTableTest, ColumnsAreThereWhenTheyAreNeeded) {
  pb::Breaker of_method = OpenBreaker();
  of_method.mutable_key()->set_method("/a.B/C");
  pb::Breaker of_key;
  of_key.mutable_key()->set_custom("tenant 7");
  const std::string text = Printed({{"a:1", of_method}, {"b:2", of_key}}, true);
  EXPECT_THAT(text,
              testing::StartsWith("ADDRESS  TARGET        METHOD  STATE"));
  EXPECT_THAT(text, HasSubstr("a:1      payments:443  /a.B/C"));
  EXPECT_THAT(text, HasSubstr("b:2      key tenant 7"));
}

TEST(TransitionTextTest, TellsStatesOrTheMode) {
  pb::Transition transition;
  transition.mutable_key()->set_target("a");
  transition.set_from(pb::CLOSED);
  transition.set_to(pb::OPEN);
  transition.set_mode(pb::AUTO);
  transition.set_why("3 failures in a row");
  EXPECT_EQ(TextOf(transition), "a CLOSED -> OPEN: 3 failures in a row");
  transition.set_to(pb::CLOSED);
  transition.set_mode(pb::SHADOW);
  transition.set_why("alice: look");
  EXPECT_EQ(TextOf(transition), "a mode SHADOW: alice: look");
}

TEST(ColorOfTest, RedIsWhatRejects) {
  EXPECT_EQ(ColorOf(pb::CLOSED, pb::AUTO), Color::kGreen);
  EXPECT_EQ(ColorOf(pb::CLOSED, pb::SHADOW), Color::kYellow);
  EXPECT_EQ(ColorOf(pb::HALF_OPEN, pb::AUTO), Color::kYellow);
  EXPECT_EQ(ColorOf(pb::OPEN, pb::AUTO), Color::kRed);
  EXPECT_EQ(ColorOf(pb::CLOSED, pb::FORCED_OPEN), Color::kRed);
}

}  // namespace
}  // namespace grpc_resilience::tools

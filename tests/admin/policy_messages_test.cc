// Policies as messages and in words.

#include "admin/policy_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "admin/messages.h"
#include "admin/method_policy_message.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST(MethodMessageTest, ShowsTheStreamPolicy) {
  MethodPolicy policy;
  pb::MethodPolicy message = ToProto(policy);
  EXPECT_EQ(message.stream().replay_bytes(), 256 * 1024);
  EXPECT_EQ(FromProto(message.stream().initial_metadata_grace()),
            milliseconds(15));
  EXPECT_EQ(message.stream().write_behind_bytes(), 0);
  EXPECT_EQ(message.stream().read_ahead_messages(), 1);
  // What is as usual is no news.
  EXPECT_THAT(message.text(), Not(HasSubstr("stream")));

  policy.stream.replay_bytes = 1024 * 1024;
  policy.stream.initial_metadata_grace = Duration(0);
  policy.stream.write_behind_bytes = 65536;
  policy.stream.read_ahead_messages = 8;
  message = ToProto(policy);
  EXPECT_EQ(message.stream().replay_bytes(), 1024 * 1024);
  EXPECT_EQ(FromProto(message.stream().initial_metadata_grace()), Duration(0));
  EXPECT_EQ(message.stream().write_behind_bytes(), 65536);
  EXPECT_EQ(message.stream().read_ahead_messages(), 8);
  EXPECT_THAT(message.text(),
              HasSubstr("streams keep 1 MiB to send again, give initial "
                        "metadata at once, write up to 64 KiB behind, read 8 "
                        "messages ahead"));
  policy.stream.replay_bytes = 1000;
  policy.stream.initial_metadata_grace = milliseconds(40);
  EXPECT_THAT(ToProto(policy).text(),
              HasSubstr("keep 1000 bytes to send again, hold initial metadata "
                        "back for 40 ms"));
}

TEST(MethodMessageTest, ABypassIsAllThereIsToSay) {
  MethodPolicy policy;
  policy.bypass = true;
  policy.stream.replay_bytes = 1;
  EXPECT_EQ(ToProto(policy).text(),
            "bypass: the library keeps out of these calls");
}

TEST(MethodMessageTest, LimitsAreThereWhenTheyAreSet) {
  MethodPolicy policy;
  EXPECT_FALSE(ToProto(policy).has_timeout());
  EXPECT_FALSE(ToProto(policy).has_per_attempt_timeout());
  policy.timeout = seconds(2);
  policy.retry.per_attempt_timeout = milliseconds(500);
  policy.retry.max_attempts = 1;
  const pb::MethodPolicy message = ToProto(policy);
  EXPECT_EQ(FromProto(message.timeout()), seconds(2));
  EXPECT_EQ(FromProto(message.per_attempt_timeout()), milliseconds(500));
  EXPECT_EQ(message.text(),
            "1 attempt; at most 500 ms per attempt; at most 2.0 s in all");
}

TEST(TargetMessageTest, OnlyRulesThatAreThereAreShown) {
  BreakerPolicy breaker;
  RetryThrottlePolicy throttle;
  pb::TargetPolicy message = ToProto(breaker, throttle);
  EXPECT_TRUE(message.trip_on_empty_bucket());
  EXPECT_FALSE(message.has_failure_rate_threshold());
  EXPECT_FALSE(message.has_consecutive_failures());
  EXPECT_EQ(message.window_calls(), 0);

  breaker.failure_rate_threshold = 0.25;
  breaker.minimum_calls = 20;
  breaker.consecutive_failures = 5;
  message = ToProto(breaker, throttle);
  EXPECT_FALSE(message.trip_on_empty_bucket());
  EXPECT_EQ(message.failure_rate_threshold(), 0.25);
  EXPECT_EQ(message.consecutive_failures(), 5);
  EXPECT_EQ(message.minimum_calls(), 20);
  EXPECT_THAT(message.text(), HasSubstr("25 % failed"));
  EXPECT_THAT(message.text(), HasSubstr(", or 5 failed in a row"));

  breaker.mode = BreakerMode::kDisabled;
  throttle.limits_retries = false;
  EXPECT_EQ(ToProto(breaker, throttle).text(),
            "no breaker; retries are not limited");
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "interceptor/call_override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace grpc_resilience::internal {
namespace {

using namespace std::chrono_literals;

CallOverride Take(const std::string& text) {
  SentMetadata metadata{{kCallOptionsKey, text}};
  return TakeOverride(&metadata);
}

TEST(CallOverrideTest, WhatIsWrittenIsRead) {
  CallOptions options;
  options.max_attempts = 5;
  options.timeout = 3s;
  const CallOverride read = Take(ToText(options));
  EXPECT_EQ(read.options.max_attempts, 5);
  EXPECT_EQ(read.options.per_attempt_timeout, std::nullopt);
  EXPECT_EQ(read.options.timeout, 3s);
  EXPECT_FALSE(read.chain_stop);
}

TEST(CallOverrideTest, TakesItsOwnEntriesOnly) {
  SentMetadata metadata{
      {kCallOptionsKey, "1,,"}, {kChainStopKey, "1"}, {"x", "y"}};
  const CallOverride read = TakeOverride(&metadata);
  EXPECT_TRUE(read.chain_stop);
  EXPECT_THAT(metadata, testing::ElementsAre(testing::Pair("x", "y")));
  EXPECT_TRUE(TakeOverride(&metadata).empty());
}

TEST(CallOverrideTest, WhatIsNotOfOurMakingReadsAsNothing) {
  for (const char* text : {"", "1", "1,2", "0,,", "-1,-1,-1", "a,b,c",
                           "1,2,3,4", "99999999999,,"}) {
    SentMetadata metadata{{kCallOptionsKey, text}};
    TakeOverride(&metadata);
    EXPECT_TRUE(metadata.empty()) << text;
  }
  EXPECT_TRUE(Take("0,,").empty());
  EXPECT_TRUE(Take("a,b,c").empty());
  EXPECT_TRUE(Take("1,2,3,4").empty());
}

TEST(CallOptionsTest, BadOptionsAreAllNamedAndNothingIsSet) {
  grpc::ClientContext context;
  CallOptions options;
  options.max_attempts = 0;
  options.timeout = Duration(-1);
  const absl::Status status = SetCallOptions(options, &context);
  EXPECT_EQ(status.message(),
            "max_attempts = 0: must be >= 1\ntimeout = -1 ns: must be > 0");
  options.max_attempts = 1;
  options.timeout.reset();
  EXPECT_TRUE(SetCallOptions(options, &context).ok());
}

}  // namespace
}  // namespace grpc_resilience::internal

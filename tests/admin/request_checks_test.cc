// What requests may hold, at the edges.

#include "admin/request_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "admin/messages.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::string FaultsOfFilter(const pb::BreakerFilter& filter) {
  RequestChecks checks("Request");
  checks.Filter(filter);
  return std::string(checks.Result().message());
}
std::string FaultsOfKey(const pb::BreakerKey& key) {
  RequestChecks checks("Request");
  checks.Key(key);
  return std::string(checks.Result().message());
}

TEST(RequestChecksTest, FiltersAreBounded) {
  pb::BreakerFilter filter;
  filter.set_contains(std::string(1024, 'x'));
  for (int i = 0; i < 16; ++i) {
    filter.add_states(pb::OPEN);
    filter.add_modes(pb::SHADOW);
  }
  EXPECT_EQ(FaultsOfFilter(filter), "");
  filter.add_states(pb::OPEN);
  filter.add_modes(pb::MODE_UNSPECIFIED);
  filter.set_contains(std::string(1025, 'x'));
  const std::string faults = FaultsOfFilter(filter);
  EXPECT_THAT(faults, HasSubstr("filter.states = 17 values: must be at most"));
  EXPECT_THAT(faults, HasSubstr("filter.modes = 17 values: must be at most"));
  EXPECT_THAT(faults, HasSubstr("filter.modes = 0: must be AUTO"));
  EXPECT_THAT(faults, HasSubstr("(1025 bytes): must be at most 1024 bytes"));
}

TEST(RequestChecksTest, NamesAreBounded) {
  pb::BreakerKey key;
  key.set_target(std::string(1024, 't'));
  key.set_method("/a.B/C");
  EXPECT_EQ(FaultsOfKey(key), "");
  key.set_target(std::string(1025, 't'));
  EXPECT_THAT(FaultsOfKey(key), HasSubstr("at most 1024 bytes"));
  key.Clear();
  key.set_custom(std::string("tenant\x7f"));
  EXPECT_THAT(FaultsOfKey(key), HasSubstr("without control characters"));
}

TEST(RequestChecksTest, DurationsStayInRangeHoweverLargeTheyAre) {
  const auto faults = [](std::int64_t s, int nanos) {
    google::protobuf::Duration duration;
    duration.set_seconds(s);
    duration.set_nanos(nanos);
    RequestChecks checks("Request");
    checks.InRange("ttl", duration, seconds(1), seconds(10));
    return std::string(checks.Result().message());
  };
  EXPECT_EQ(faults(1, 0), "");
  EXPECT_EQ(faults(10, 0), "");
  EXPECT_THAT(faults(10, 1), HasSubstr("must be in [1 s, 10 s]"));
  EXPECT_NE(faults(0, 999'999'999), "");
  EXPECT_NE(faults(std::numeric_limits<std::int64_t>::max(), 0), "");
  EXPECT_NE(faults(std::numeric_limits<std::int64_t>::min(), 0), "");
}

TEST(RequestChecksTest, EveryFaultIsToldWithTheRequestsName) {
  RequestChecks checks("ForceModeRequest");
  checks.Mode(pb::MODE_UNSPECIFIED);
  checks.Reason("");
  const absl::Status status = checks.Result();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "ForceModeRequest: mode = 0: must be AUTO, FORCED_OPEN, "
      "FORCED_CLOSED or SHADOW\n"
      "ForceModeRequest: reason = \"\": must be set: colleagues will ask");
}

TEST(PageSizeTest, IsTheUsualOneOrAtMostTheLargest) {
  EXPECT_EQ(PageSizeOf(0), kDefaultPage);
  EXPECT_EQ(PageSizeOf(7), 7);
  EXPECT_EQ(PageSizeOf(kLargestPage + 1), kLargestPage);
}

}  // namespace
}  // namespace grpc_resilience::internal

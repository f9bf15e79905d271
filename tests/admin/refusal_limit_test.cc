// How much of the log refused callers get.

#include "admin/refusal_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Eq;
using testing::Optional;

TEST(RefusalLimitTest, TenAtOnceThenOneASecondAndNoneIsForgotten) {
  RefusalLimit limit;
  TimePoint now{};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(limit.Admit(now), Optional(0u));
  for (int i = 0; i < 7; ++i) EXPECT_THAT(limit.Admit(now), Eq(std::nullopt));
  // 7 held back, and an eighth.
  now += milliseconds(999);
  EXPECT_THAT(limit.Admit(now), Eq(std::nullopt));
  now += milliseconds(1);
  EXPECT_THAT(limit.Admit(now), Optional(8u));
  EXPECT_THAT(limit.Admit(now), Eq(std::nullopt));
  now += seconds(1);
  EXPECT_THAT(limit.Admit(now), Optional(1u));
  // However long it was quiet, ten.
  now += hours(5);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(limit.Admit(now), Optional(0u));
  EXPECT_THAT(limit.Admit(now), Eq(std::nullopt));
}

}  // namespace
}  // namespace grpc_resilience::internal

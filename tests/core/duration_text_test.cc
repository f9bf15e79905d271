#include "core/duration_text.h"

#include <gtest/gtest.h>

namespace grpc_resilience::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(DurationTextTest, UsesTheLargestUnitThatIsExact) {
  EXPECT_EQ(DurationText(seconds(0)), "0 s");
  EXPECT_EQ(DurationText(seconds(15)), "15 s");
  EXPECT_EQ(DurationText(milliseconds(1500)), "1500 ms");
  EXPECT_EQ(DurationText(milliseconds(80)), "80 ms");
  EXPECT_EQ(DurationText(microseconds(250)), "250 us");
  EXPECT_EQ(DurationText(nanoseconds(1)), "1 ns");
  EXPECT_EQ(DurationText(milliseconds(-5)), "-5 ms");
  EXPECT_EQ(DurationText(Duration::min()), "-9223372036854775808 ns");
}

}  // namespace
}  // namespace grpc_resilience::internal

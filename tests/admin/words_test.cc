// Figures for people.

#include "admin/words.h"

#include <gtest/gtest.h>

#include "admin/messages.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RoughlyTest, RoundsToWhatMatters) {
  const std::pair<Duration, const char*> cases[] = {
      {Duration(-1), "0 s"},         {microseconds(85), "85 us"},
      {milliseconds(85), "85 ms"},   {milliseconds(1234), "1.2 s"},
      {milliseconds(9949), "9.9 s"}, {milliseconds(12345), "12 s"},
      {seconds(60), "1 min"},        {seconds(250), "4 min 10 s"},
      {seconds(7500), "2 h 5 min"},  {hours(76), "3 d 4 h"},
      {milliseconds(59999), "1 min"}};
  for (const auto& [duration, text] : cases) {
    EXPECT_EQ(Roughly(duration), text);
  }
}

TEST(NumberTest, IsShort) {
  EXPECT_EQ(Number(12), "12");
  EXPECT_EQ(Number(12.5), "12.5");
  EXPECT_EQ(Percent(0.15), "15 %");
  EXPECT_EQ(Percent(1.0 / 3), "33.3 %");
}

TEST(DurationMessageTest, StaysInRange) {
  google::protobuf::Duration message;
  message.set_seconds(315'576'000'000);
  EXPECT_EQ(FromProto(message), Duration::max());
  message.set_seconds(-315'576'000'000);
  EXPECT_EQ(FromProto(message), Duration::min());
  EXPECT_EQ(FromProto(ToProto(milliseconds(1500))), milliseconds(1500));
  EXPECT_EQ(FromProto(ToProto(milliseconds(-1500))), milliseconds(-1500));
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "config/json_place.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class JsonPlaceTest : public testing::Test {
 protected:
  JsonPlace Read(const std::string& json) {
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &root_).ok());
    return JsonPlace(root_, &report_);
  }

  google::protobuf::Value root_;
  ImportReport report_;
};

TEST_F(JsonPlaceTest, AFaultNamesPathValueAndWhatIsAllowed) {
  const JsonPlace root = Read(R"({"a b": [{"n": 7}, {"n": "x"}]})");
  const auto elements = root.Field("a b").Elements();
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[0].Field("n").WholeNumber(1, 10), 7);
  EXPECT_EQ(elements[0].Field("n").WholeNumber(1, 5), std::nullopt);
  EXPECT_EQ(elements[1].Field("n").WholeNumber(1, 5), std::nullopt);
  EXPECT_THAT(
      report_.faults,
      ElementsAre("$[\"a b\"][0].n = 7: must be a whole number in [1, 5]",
                  "$[\"a b\"][1].n = \"x\": must be a number"));
}

TEST_F(JsonPlaceTest, NullIsAbsentAndSaysNothing) {
  const JsonPlace root = Read(R"({"a": null})");
  EXPECT_FALSE(root.Field("a").present());
  EXPECT_EQ(root.Field("a").String(), std::nullopt);
  EXPECT_EQ(root.Field("b").Bool(), std::nullopt);
  EXPECT_THAT(report_.faults, IsEmpty());
  root.Field("a").Required("a string");
  EXPECT_THAT(report_.faults, ElementsAre("$.a is missing: must be a string"));
}

TEST_F(JsonPlaceTest, DurationsAsProtobufWritesThem) {
  const JsonPlace root = Read(
      R"({"good": "1.5s", "none": "0s", "most": "315576000000s",
          "bad": [" 1s", "+1s", "1.s", ".5s", "1", "-1s", "1ms",
                  "1.0000000001s", "315576000001s"]})");
  EXPECT_EQ(root.Field("good").PositiveDuration(), milliseconds(1500));
  EXPECT_EQ(root.Field("none").NotNegativeDuration(), Duration::zero());
  EXPECT_EQ(root.Field("most").PositiveDuration(), Duration::max());
  EXPECT_THAT(report_.faults, IsEmpty());
  const auto bad = root.Field("bad").Elements();
  for (const JsonPlace& place : bad) {
    EXPECT_EQ(place.NotNegativeDuration(), std::nullopt) << place.path();
  }
  EXPECT_EQ(report_.faults.size(), bad.size());
  EXPECT_EQ(root.Field("none").PositiveDuration(), std::nullopt);
  EXPECT_EQ(report_.faults.size(), bad.size() + 1);
}

TEST_F(JsonPlaceTest, UnknownFieldsAreNamedInOrder) {
  Read(R"({"z": 1, "known": 2, "a": 3})").NameFieldsBeyond({"known"});
  ASSERT_EQ(report_.differences.size(), 2u);
  EXPECT_EQ(report_.differences[0].path, "$.a");
  EXPECT_EQ(report_.differences[1].path, "$.z");
}

}  // namespace
}  // namespace grpc_resilience::internal

// What else may have been meant.

#include "tools/resiliencectl/near_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace grpc_resilience::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearNamesTest, TheNearestComeFirst) {
  const std::vector<std::string> names = {"payments:443", "payment:443",
                                          "stock:80", "dns:///payments:443"};
  EXPECT_THAT(NearNames("payments", names, 3),
              ElementsAre("dns:///payments:443", "payments:443"));
  EXPECT_THAT(NearNames("paymenst:443", names, 1), ElementsAre("payment:443"));
  EXPECT_THAT(NearNames("zzz", names, 3), IsEmpty());
  EXPECT_THAT(NearNames("x", {}, 3), IsEmpty());
}

}  // namespace
}  // namespace grpc_resilience::tools

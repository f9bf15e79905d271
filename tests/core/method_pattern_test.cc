#include "core/method_pattern.h"

#include <gtest/gtest.h>

namespace grpc_resilience::internal {
namespace {

TEST(MethodPatternTest, AMethodOrAllOfAService) {
  EXPECT_TRUE(IsMethodPattern("/pkg.Service/Method"));
  EXPECT_TRUE(IsMethodPattern("/Service/*"));
  for (const char* bad :
       {"", "/", "//", "*", "/*", "/*/*", "pkg.Service/Method", "/pkg.Service",
        "/pkg.Service/", "/pkg.Service/Me*", "/pkg.*/Method", "/a/b/c",
        "/pkg.Service/Me thod", "/pkg.Service/Method\n"}) {
    EXPECT_FALSE(IsMethodPattern(bad)) << bad;
  }
}

TEST(MethodPatternTest, OnlyAllOfAServiceIsAWildcard) {
  EXPECT_TRUE(IsWildcard("/pkg.Service/*"));
  EXPECT_FALSE(IsWildcard("/pkg.Service/Method"));
}

}  // namespace
}  // namespace grpc_resilience::internal

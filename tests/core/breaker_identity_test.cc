#include "core/breaker_identity.h"

#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience::internal {
namespace {

TEST(BreakerIdentityTest, GivesBackTheKeyThatItWasMadeOf) {
  const TimePoint made_at = TimePoint(std::chrono::seconds(7));
  for (const BreakerKey& key :
       {BreakerKey{"payments:443", "", ""},
        BreakerKey{"payments:443", "/a.B/C", ""},
        BreakerKey{"", "", "tenant 4"}, BreakerKey{"", "", ""},
        BreakerKey{std::string("a\0b", 3), "", ""},
        BreakerKey{std::string(100000, 't'), std::string(5000, 'm'), ""}}) {
    const BreakerIdentityPtr identity = BreakerIdentity::Make(key, made_at);
    EXPECT_EQ(identity->target(), key.target);
    EXPECT_EQ(identity->method(), key.method);
    EXPECT_EQ(identity->custom(), key.custom);
    EXPECT_EQ(identity->key().target, key.target);
    EXPECT_EQ(identity->made_at(), made_at);
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

// Pages of very many breakers, and the tokens between them.

#include "admin/breaker_pages.h"

#include "admin/admin_fixture.h"

namespace grpc_resilience::internal {
namespace {

TEST(PageTokenTest, NoKeyIsTakenForAnother) {
  pb::BreakerFilter filter;
  filter.set_contains("1:a");
  for (const BreakerKey& key :
       {BreakerKey{"a", ""}, BreakerKey{"", "", "a"}, BreakerKey{"1:a", "/1:b"},
        BreakerKey{"a1:", "b"}, BreakerKey{std::string("\0:\xff", 3), ""},
        BreakerKey{"", ""}}) {
    const auto parsed = ParsePageToken(filter, PageToken(filter, key));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->target, key.target);
    EXPECT_EQ(parsed->method, key.method);
    EXPECT_EQ(parsed->custom, key.custom);
  }
}

TEST(PageTokenTest, WhatIsNotOneIsRefused) {
  const pb::BreakerFilter filter;
  const std::string token = PageToken(filter, {"target", "/a.B/C"});
  for (const std::string& bad :
       {std::string(), token.substr(0, token.size() / 2), token + token,
        std::string(20'000, 'A'), std::string("\xff")}) {
    EXPECT_EQ(ParsePageToken(filter, bad).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad.size();
  }
  pb::BreakerFilter other;
  other.set_noteworthy(true);
  EXPECT_FALSE(ParsePageToken(other, token).ok());
}

class BreakerPagesTest : public AdminFixture {};

// 20,000 are looked at for one page, so that no call takes long.
TEST_F(BreakerPagesTest, APageOfNoMatchesSaysWhereToGoOn) {
  Config config = ThreeInARow();
  config.max_breakers = 30'000;
  ASSERT_TRUE(resilience_->Update(config).ok());
  for (int i = 0; i < 20'500; ++i) Breaker("t" + std::to_string(i));
  Open("zz:1");
  pb::BreakerFilter filter;
  filter.add_states(pb::OPEN);
  const WallTime time(clock_);
  BreakerPage page =
      ReadPage(resilience_->registry(), filter, std::nullopt, 10, time);
  EXPECT_TRUE(page.breakers.empty());
  ASSERT_TRUE(page.last.has_value());
  page = ReadPage(resilience_->registry(), filter, page.last, 10, time);
  ASSERT_EQ(page.breakers.size(), 1u);
  EXPECT_EQ(page.breakers[0].key().target(), "zz:1");
  EXPECT_FALSE(page.last.has_value());
}

}  // namespace
}  // namespace grpc_resilience::internal

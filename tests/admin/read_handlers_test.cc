// What is read of breakers and policies.

#include <set>

#include "admin/admin_fixture.h"

namespace grpc_resilience::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ReadHandlersTest : public AdminFixture {
 protected:
  absl::StatusOr<std::vector<std::string>> List(
      pb::ListBreakersRequest request) {
    pb::ListBreakersResponse response;
    const absl::Status status = read_.List(request, &response);
    if (!status.ok()) return status;
    std::vector<std::string> names;
    for (const pb::Breaker& breaker : response.breakers()) {
      names.push_back(breaker.key().target() + breaker.key().method());
    }
    return names;
  }

  void ExpectFault(const pb::ListBreakersRequest& request,
                   const std::string& text) {
    const auto names = List(request);
    EXPECT_EQ(names.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(names.status().message()), HasSubstr(text));
    EXPECT_LT(names.status().message().size(), 500u);
  }
};

TEST_F(ReadHandlersTest, FilterTakesWhatMatchesAll) {
  Breaker("payments:443");
  Breaker("stock:443");
  Open("stock:80");
  Breaker("stock:443", "/shop.Stock/Get");
  ASSERT_TRUE(resilience_
                  ->ForceBreakerMode({"payments:443", ""},
                                     OperatorMode::kShadow, std::nullopt, "x")
                  .ok());
  pb::ListBreakersRequest request;
  EXPECT_THAT(*List(request),
              ElementsAre("payments:443", "stock:443",
                          "stock:443/shop.Stock/Get", "stock:80"));
  request.mutable_filter()->set_contains("stock");
  EXPECT_THAT(*List(request), SizeIs(3));
  request.mutable_filter()->set_contains("443 /shop");
  EXPECT_THAT(*List(request), ElementsAre("stock:443/shop.Stock/Get"));
  request.mutable_filter()->set_contains("");
  request.mutable_filter()->add_states(pb::OPEN);
  request.mutable_filter()->add_states(pb::HALF_OPEN);
  EXPECT_THAT(*List(request), ElementsAre("stock:80"));
  request.mutable_filter()->clear_states();
  request.mutable_filter()->add_modes(pb::SHADOW);
  EXPECT_THAT(*List(request), ElementsAre("payments:443"));
  request.mutable_filter()->clear_modes();
  request.mutable_filter()->set_noteworthy(true);
  EXPECT_THAT(*List(request), ElementsAre("payments:443", "stock:80"));
}

TEST_F(ReadHandlersTest, PagesHoldEachBreakerOnce) {
  std::set<std::string> all;
  for (int i = 0; i < 1234; ++i) {
    all.insert("t" + std::to_string(i));
    Breaker("t" + std::to_string(i));
  }
  pb::ListBreakersRequest request;
  request.set_page_size(100);
  std::set<std::string> seen;
  int pages = 0;
  do {
    pb::ListBreakersResponse response;
    ASSERT_TRUE(read_.List(request, &response).ok());
    EXPECT_LE(response.breakers_size(), 100);
    for (const pb::Breaker& breaker : response.breakers()) {
      EXPECT_TRUE(seen.insert(breaker.key().target()).second);
    }
    // One that comes meanwhile disturbs nobody.
    Breaker("a" + std::to_string(++pages));
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, all);
  EXPECT_EQ(pages, 13);
}

TEST_F(ReadHandlersTest, APageThatIsExactlyFullIsTheLast) {
  for (int i = 0; i < 256; ++i) Breaker("t" + std::to_string(i));
  pb::ListBreakersRequest request;
  request.set_page_size(256);
  pb::ListBreakersResponse response;
  ASSERT_TRUE(read_.List(request, &response).ok());
  EXPECT_THAT(response.breakers(), SizeIs(256));
  EXPECT_THAT(response.next_page_token(), IsEmpty());
}

TEST_F(ReadHandlersTest, BadListRequestsAreRefused) {
  pb::ListBreakersRequest request;
  request.mutable_filter()->set_contains(std::string(2'000'000, 'x'));
  ExpectFault(request, "at most 1024 bytes");
  request.mutable_filter()->set_contains("a\nb");
  ExpectFault(request, "without control characters");
  request.mutable_filter()->set_contains("");
  request.set_page_size(-1);
  ExpectFault(request, "page_size = -1: must be >= 0");
  request.set_page_size(1);
  for (const char* token : {"x", "!!", "AAAA"}) {
    request.set_page_token(token);
    ExpectFault(request, "page_token");
  }
  for (int i = 0; i < 3; ++i) Breaker("t" + std::to_string(i));
  request.clear_page_token();
  pb::ListBreakersResponse response;
  ASSERT_TRUE(read_.List(request, &response).ok());
  request.set_page_token(response.next_page_token());
  request.mutable_filter()->set_noteworthy(true);
  ExpectFault(request, "belongs to another filter");
  request.mutable_filter()->add_states(static_cast<pb::State>(77));
  ExpectFault(request, "filter.states = 77");
}

TEST_F(ReadHandlersTest, UnknownNamesAreNotFoundAndNothingIsMade) {
  Breaker("known:1");
  pb::GetBreakerRequest request;
  pb::GetBreakerResponse response;
  *request.mutable_key() = Key("unknown:1");
  EXPECT_EQ(read_.Get(request, &response).code(), absl::StatusCode::kNotFound);
  pb::ExplainBreakerRequest explain;
  *explain.mutable_key() = Key("known:1", "/a.B/C");
  pb::ExplainBreakerResponse explained;
  EXPECT_EQ(read_.ExplainOne(explain, &explained).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(resilience_->registry().size(), 1u);
}

TEST_F(ReadHandlersTest, MalformedNamesAreRefused) {
  struct Case {
    pb::BreakerKey key;
    const char* text;
  };
  pb::BreakerKey both = Key("a");
  both.set_custom("b");
  const Case cases[] = {
      {Key(""), "key.target = \"\": must be set"},
      {Key("a", "Get"), "must be like /pkg.Service/Method"},
      {Key("a", "/a.B/*"), "must be like /pkg.Service/Method"},
      {Key(std::string("a\0b", 3)), "without control characters"},
      {Key(std::string(5000, 'a')), "(5000 bytes): must be at most 1024"},
      {both, "stands alone"}};
  for (const Case& c : cases) {
    pb::GetBreakerRequest request;
    pb::GetBreakerResponse response;
    *request.mutable_key() = c.key;
    const absl::Status status = read_.Get(request, &response);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

TEST_F(ReadHandlersTest, AnOpenBreakerIsExplained) {
  Open("payments:443");
  clock_.Advance(seconds(4));
  pb::ExplainBreakerRequest request;
  *request.mutable_key() = Key("payments:443");
  pb::ExplainBreakerResponse response;
  ASSERT_TRUE(read_.ExplainOne(request, &response).ok());
  EXPECT_EQ(response.summary(),
            "payments:443 is OPEN for 4.0 s: 3 failures in a row; last failure "
            "UNAVAILABLE: refused; next probe in 6.0 s");
  EXPECT_EQ(response.breaker().state(), pb::OPEN);
  EXPECT_EQ(response.policy().consecutive_failures(), 3);
  EXPECT_EQ(response.last_transition().why(), "3 failures in a row");
  EXPECT_THAT(response.details(),
              testing::Contains("opens when 3 failed in a row"));
  EXPECT_EQ(response.figures(0).name(), "state_for");
  EXPECT_DOUBLE_EQ(response.figures(0).value(), 4.0);
}

TEST_F(ReadHandlersTest, AModeIsExplained) {
  Breaker("a");
  ASSERT_TRUE(resilience_
                  ->ForceBreakerMode({"a", ""}, OperatorMode::kForcedOpen,
                                     minutes(10), "alice: move")
                  .ok());
  clock_.Advance(minutes(6));
  pb::ExplainBreakerRequest request;
  *request.mutable_key() = Key("a");
  pb::ExplainBreakerResponse response;
  ASSERT_TRUE(read_.ExplainOne(request, &response).ok());
  EXPECT_EQ(response.summary(),
            "a is FORCED_OPEN for another 4 min by an operator: alice: move");
}

TEST_F(ReadHandlersTest, WhatIsNotUtf8IsReplaced) {
  const auto breaker = Breaker("a");
  for (int i = 0; i < kFailuresToOpen; ++i) {
    breaker->TryAcquire()->Record(Outcome::kFailure, StatusCode::INTERNAL,
                                  "\xff bad \xc3\xa9");
  }
  pb::GetBreakerRequest request;
  *request.mutable_key() = Key("a");
  pb::GetBreakerResponse response;
  ASSERT_TRUE(read_.Get(request, &response).ok());
  EXPECT_EQ(response.breaker().last_failure(), "INTERNAL: ? bad \xc3\xa9");
}

TEST_F(ReadHandlersTest, TransitionsComeOldestFirst) {
  Open("a");
  ASSERT_TRUE(resilience_->ResetBreaker("a").ok());
  pb::ListTransitionsRequest request;
  *request.mutable_key() = Key("a");
  pb::ListTransitionsResponse response;
  ASSERT_TRUE(read_.Transitions(request, &response).ok());
  ASSERT_THAT(response.transitions(), SizeIs(2));
  EXPECT_EQ(response.transitions(0).to(), pb::OPEN);
  EXPECT_EQ(response.transitions(1).reason(), pb::RESET);
}

TEST_F(ReadHandlersTest, PoliciesNameTheirRules) {
  Config config = ThreeInARow();
  config.Target("pay:1").Method("/pay.Pay/*").retry.max_attempts = 7;
  config.Target("pay:1").breaker.failure_rate_threshold = 0.25;
  config.Target("pay:1").breaker.recovery.background_probe = BackgroundProbe();
  config.Target("pay:1").breaker.recovery.background_probe->request =
      "secret body";
  ASSERT_TRUE(resilience_->Update(config).ok());

  pb::ResolvePolicyRequest request;
  request.set_target("pay:1");
  request.set_method("/pay.Pay/Charge");
  pb::ResolvePolicyResponse resolved;
  ASSERT_TRUE(read_.Resolve(request, &resolved).ok());
  EXPECT_EQ(resolved.method_rule(), "target pay:1, method /pay.Pay/*");
  EXPECT_EQ(resolved.method().max_attempts(), 7);
  EXPECT_EQ(resolved.target_rule(), "target pay:1");
  EXPECT_EQ(resolved.target().failure_rate_threshold(), 0.25);
  EXPECT_EQ(resolved.breaker().target(), "pay:1");
  request.set_target("other:1");
  ASSERT_TRUE(read_.Resolve(request, &resolved).ok());
  EXPECT_EQ(resolved.method_rule(), "library defaults");
  EXPECT_EQ(resolved.target_rule(), "default target");
  EXPECT_EQ(resilience_->registry().size(), 0u);

  std::vector<std::string> rules;
  pb::ListPoliciesRequest list;
  list.set_page_size(2);
  do {
    pb::ListPoliciesResponse page;
    ASSERT_TRUE(read_.Policies(list, &page).ok());
    EXPECT_THAT(page.ShortDebugString(), Not(HasSubstr("secret")));
    for (const auto& rule : page.rules()) rules.push_back(rule.rule());
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_THAT(rules,
              ElementsAre("target pay:1", "target pay:1, method /pay.Pay/*",
                          "default target", "library defaults"));
}

TEST_F(ReadHandlersTest, PoliciesShowHedging) {
  Config config;
  HedgingPolicy& hedging = config.Method("/shop.Stock/Get").hedging.emplace();
  hedging.max_hedged_attempts = 4;
  hedging.delay_quantile = 0.95;
  hedging.non_fatal_status_codes = {StatusCode::UNAVAILABLE};
  ASSERT_TRUE(resilience_->Update(config).ok());
  pb::ResolvePolicyRequest request;
  request.set_target("pay:1");
  request.set_method("/shop.Stock/Get");
  pb::ResolvePolicyResponse resolved;
  ASSERT_TRUE(read_.Resolve(request, &resolved).ok());
  EXPECT_EQ(resolved.method().hedging().max_hedged_attempts(), 4);
  EXPECT_EQ(resolved.method().hedging().delay_quantile(), 0.95);
  EXPECT_THAT(resolved.method().hedging().non_fatal_status_codes(),
              ElementsAre("UNAVAILABLE"));
  EXPECT_THAT(resolved.method().text(),
              HasSubstr("hedged instead: up to 4 attempts, each after quantile "
                        "0.95 of the latency"));
}

}  // namespace
}  // namespace grpc_resilience::internal

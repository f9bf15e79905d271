#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "config/config_text.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

ServiceConfigExport Export(const Config& config, std::string_view target = {}) {
  absl::StatusOr<ServiceConfigExport> result =
      ExportServiceConfig(config, target);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : ServiceConfigExport();
}

// What an import of the export says.
std::vector<std::string> There(const Config& config,
                               std::string_view target = {}) {
  const auto import = ImportServiceConfig(Export(config, target).json);
  EXPECT_TRUE(import.ok()) << import.status();
  return import.ok() ? TextOf(import->config) : std::vector<std::string>();
}

// A policy that gRPC can follow to the letter.
void SetAlike(RetryPolicy* retry) {
  retry->max_attempts = 4;
  retry->backoff.jitter = Jitter::kRatio;
  retry->retryable_status_codes = std::set{StatusCode::UNAVAILABLE};
}

Config WithoutBreaker() {
  Config config;
  config.DefaultTarget().breaker.mode = BreakerMode::kDisabled;
  config.DefaultMethod().retry.max_attempts = 1;
  return config;
}

TEST(ServiceConfigExportTest, AHedgingPolicy) {
  Config config = WithoutBreaker();
  MethodPolicy& policy = config.Method("/a.B/C");
  policy.retry.max_attempts = 1;
  policy.retry.idempotency = Idempotency::kIdempotent;
  HedgingPolicy& hedging = policy.hedging.emplace();
  hedging.max_hedged_attempts = 3;
  hedging.hedging_delay = milliseconds(20);
  hedging.non_fatal_status_codes = {StatusCode::UNAVAILABLE};
  EXPECT_THAT(There(config), Contains("/a.B/C: 1 attempts; hedged, 3 after "
                                      "20 ms, UNAVAILABLE; idempotency 1"));
  hedging.max_hedged_attempts = 9;
  hedging.delay_quantile = 0.95;
  EXPECT_THAT(TextOf(Export(config).differences),
              testing::IsSupersetOf(
                  {"method \"/a.B/C\": hedging.max_hedged_attempts = 9: 5, the "
                   "most that gRPC makes",
                   "method \"/a.B/C\": hedging.delay_quantile = 0.95: always "
                   "hedging_delay (20 ms)"}));
}

// gRPC would hedge whatever the method is.
TEST(ServiceConfigExportTest, NoHedgingWithoutIdempotency) {
  Config config = WithoutBreaker();
  config.Method("/a.B/C").hedging.emplace();
  EXPECT_THAT(There(config), Not(Contains(HasSubstr("hedged"))));
  EXPECT_THAT(
      TextOf(Export(config).differences),
      Contains(StartsWith("method \"/a.B/C\": hedging = set: not hedged")));
}

TEST(ServiceConfigExportTest, TheJsonOfAWholeConfig) {
  Config config = WithoutBreaker();
  MethodPolicy& stock = config.Method("/shop.Inventory/GetStock");
  SetAlike(&stock.retry);
  stock.timeout = milliseconds(2500);
  config.Method("/shop.Prices/*").timeout = seconds(1);
  config.Method("/shop.Prices/*").retry.max_attempts = 1;
  const ServiceConfigExport result = Export(config);
  EXPECT_EQ(result.json, R"({
 "methodConfig": [
  {
   "name": [
    {}
   ]
  },
  {
   "name": [
    {
     "service": "shop.Inventory",
     "method": "GetStock"
    }
   ],
   "timeout": "2.500s",
   "retryPolicy": {
    "maxAttempts": 4,
    "initialBackoff": "0.050s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": [
     "UNAVAILABLE"
    ]
   }
  },
  {
   "name": [
    {
     "service": "shop.Prices"
    }
   ],
   "timeout": "1s"
  }
 ],
 "retryThrottling": {
  "maxTokens": 16,
  "tokenRatio": 2
 }
}
)");
  EXPECT_THAT(result.differences, IsEmpty());
}

TEST(ServiceConfigExportTest, TheDefaultsArentRetriesOfGrpc) {
  const ServiceConfigExport result = Export(Config());
  EXPECT_THAT(result.json, Not(HasSubstr("retryPolicy")));
  EXPECT_THAT(TextOf(result.differences),
              ElementsAre(StartsWith("default method = library defaults: "),
                          StartsWith("breaker = kEnabled: ")));
}

TEST(ServiceConfigExportTest, AnInvalidConfigIsRefused) {
  Config config;
  config.DefaultMethod().retry.max_attempts = 0;
  EXPECT_EQ(ExportServiceConfig(config).status(), config.Validate());
}

TEST(ServiceConfigExportTest, NoThrottleWithoutALimit) {
  Config config = WithoutBreaker();
  config.DefaultTarget().throttle.limits_retries = false;
  EXPECT_THAT(Export(config).json, Not(HasSubstr("retryThrottling")));
}

// --- Idempotency
// ----------------------------------------------------------------

struct CodesCase {
  const char* name;
  Idempotency idempotency;
  bool key_header;
  std::optional<std::set<StatusCode>> codes;
  const char* exported;    // codes; empty: no retryPolicy
  const char* difference;  // empty: none
};

class ExportedCodesTest : public testing::TestWithParam<CodesCase> {};

TEST_P(ExportedCodesTest, NothingIsSentTwiceThatTheConfigForbids) {
  Config config = WithoutBreaker();
  RetryPolicy& retry = config.DefaultMethod().retry;
  SetAlike(&retry);
  retry.idempotency = GetParam().idempotency;
  if (GetParam().key_header) retry.idempotency_key_header = "x-key";
  retry.retryable_status_codes = GetParam().codes;
  const ServiceConfigExport result = Export(config);
  const auto import = ImportServiceConfig(result.json);
  ASSERT_TRUE(import.ok()) << import.status();
  const RetryPolicy& there = import->config.default_method()->retry;
  std::string codes;
  if (there.max_attempts > 1) {
    for (const StatusCode code : *there.retryable_status_codes) {
      codes += StatusCodeName(code) + " ";
    }
  }
  EXPECT_EQ(codes, GetParam().exported);
  if (*GetParam().difference == '\0') {
    EXPECT_THAT(result.differences, IsEmpty());
  } else {
    EXPECT_THAT(TextOf(result.differences),
                ElementsAre(HasSubstr(GetParam().difference)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ExportedCodesTest,
    testing::Values(
        CodesCase{"FromProtoByDefault", Idempotency::kFromProto, false,
                  std::nullopt, "", "retry.idempotency = kFromProto: no retr"},
        CodesCase{"IdempotentByDefault", Idempotency::kIdempotent, false,
                  std::nullopt, "DEADLINE_EXCEEDED UNAVAILABLE ", ""},
        CodesCase{"KeyByDefault", Idempotency::kFromProto, true, std::nullopt,
                  "DEADLINE_EXCEEDED UNAVAILABLE ",
                  "retry.idempotency_key_header = x-key"},
        CodesCase{"NonIdempotentByDefault", Idempotency::kNonIdempotent, false,
                  std::nullopt, "", ""},
        CodesCase{"FromProtoListed", Idempotency::kFromProto, false,
                  std::set{StatusCode::UNAVAILABLE, StatusCode::INTERNAL},
                  "UNAVAILABLE ", "retryable_status_codes = INTERNAL: not"},
        CodesCase{"FromProtoOnlyLateOnes", Idempotency::kFromProto, false,
                  std::set{StatusCode::ABORTED}, "", "= ABORTED: not retried"},
        CodesCase{"IdempotentListed", Idempotency::kIdempotent, false,
                  std::set{StatusCode::ABORTED, StatusCode::INTERNAL},
                  "ABORTED INTERNAL ", ""},
        CodesCase{"NonIdempotentListed", Idempotency::kNonIdempotent, false,
                  std::set{StatusCode::RESOURCE_EXHAUSTED},
                  "RESOURCE_EXHAUSTED ", ""}),
    [](const auto& of) { return of.param.name; });

// --- What can't be expressed
// ----------------------------------------------------

TEST(ServiceConfigExportTest, EveryFieldThatGrpcLacksIsNamed) {
  struct Case {
    void (*change)(MethodPolicy*);
    const char* difference;
  };
  const Case kCases[] = {
      {[](MethodPolicy* p) { p->retry.max_attempts = 6; },
       "retry.max_attempts = 6: 5"},
      {[](MethodPolicy* p) { p->retry.backoff.jitter = Jitter::kFull; },
       "retry.backoff.jitter = kFull: "},
      {[](MethodPolicy* p) { p->retry.backoff.jitter_ratio = 0.3; },
       "retry.backoff.jitter_ratio = 0.3: 0.2"},
      {[](MethodPolicy* p) { p->retry.per_attempt_timeout = seconds(1); },
       "retry.per_attempt_timeout = 1 s: "},
      {[](MethodPolicy* p) { p->retry.min_attempt_time = seconds(1); },
       "retry.min_attempt_time = 1 s: "},
      {[](MethodPolicy* p) { p->retry.reserve = milliseconds(3); },
       "retry.reserve = 3 ms: "},
      {[](MethodPolicy* p) { p->message_kind = MessageKind::kBytes; },
       "message_kind = kBytes: "},
  };
  for (const Case& c : kCases) {
    Config config = WithoutBreaker();
    MethodPolicy& policy = config.Method("/a.B/C");
    SetAlike(&policy.retry);
    ASSERT_THAT(Export(config).differences, IsEmpty());
    c.change(&policy);
    EXPECT_THAT(TextOf(Export(config).differences),
                ElementsAre(StartsWith(std::string("method \"/a.B/C\": ") +
                                       c.difference)));
  }
}

TEST(ServiceConfigExportTest, BypassIsNoPolicyAtAll) {
  Config config = WithoutBreaker();
  MethodPolicy& policy = config.Method("/grpc.health.v1.Health/*");
  SetAlike(&policy.retry);
  policy.timeout = seconds(1);
  policy.bypass = true;
  EXPECT_THAT(There(config), Contains("/grpc.health.v1.Health/*: 1 attempts"));
  EXPECT_THAT(Export(config).differences, IsEmpty());
}

// --- Targets
// --------------------------------------------------------------------

void SetTimeout(MethodPolicy* policy, Duration timeout) {
  policy->retry.max_attempts = 1;
  policy->timeout = timeout;
}

TEST(ServiceConfigExportTest, ATargetsOwnPoliciesGoFirst) {
  Config config = WithoutBreaker();
  SetTimeout(&config.Method("/a.A/M"), seconds(1));
  SetTimeout(&config.Method("/a.B/M"), seconds(2));
  SetTimeout(&config.Method("/a.B/*"), seconds(3));
  SetTimeout(&config.Method("/a.C/M"), seconds(4));
  SetTimeout(&config.DefaultMethod(), seconds(5));
  TargetConfig& target = config.Target("payments:443");
  target.breaker.mode = BreakerMode::kDisabled;
  SetTimeout(&target.Method("/a.A/M"), seconds(6));
  SetTimeout(&target.Method("/a.B/*"), seconds(7));
  target.throttle.max_tokens = 20;
  // "/a.B/M" isn't there: the target's "/a.B/*" goes before it.
  EXPECT_THAT(
      There(config, "payments:443"),
      ElementsAre("/a.A/M: timeout 6 s; 1 attempts",
                  "/a.B/*: timeout 7 s; 1 attempts",
                  "/a.C/M: timeout 4 s; 1 attempts",
                  "default: timeout 5 s; 1 attempts", "throttle: 1 20 2"));
  SetTimeout(&target.DefaultMethod(), seconds(8));
  EXPECT_THAT(
      There(config, "payments:443"),
      ElementsAre("/a.A/M: timeout 6 s; 1 attempts",
                  "/a.B/*: timeout 7 s; 1 attempts",
                  "default: timeout 8 s; 1 attempts", "throttle: 1 20 2"));
  EXPECT_THAT(
      There(config, "another:443"),
      ElementsAre(
          "/a.A/M: timeout 1 s; 1 attempts", "/a.B/*: timeout 3 s; 1 attempts",
          "/a.B/M: timeout 2 s; 1 attempts", "/a.C/M: timeout 4 s; 1 attempts",
          "default: timeout 5 s; 1 attempts", "throttle: 1 16 2"));
  EXPECT_THAT(TextOf(Export(config).differences),
              ElementsAre(StartsWith("target \"payments:443\" = settings of")));
  EXPECT_THAT(Export(config, "payments:443").differences, IsEmpty());
}

// --- There and back
// -------------------------------------------------------------

class RandomConfigs {
 public:
  Config Next() {
    Config config = WithoutBreaker();
    for (const char* pattern : {"/a.A/*", "/a.A/M", "/b.B/N"}) {
      if (Draw(3) > 0) Fill(&config.Method(pattern));
    }
    Fill(&config.DefaultMethod());
    RetryThrottlePolicy& throttle = config.DefaultTarget().throttle;
    throttle.max_tokens = 1 + Draw(1000);
    throttle.token_ratio = (1 + Draw(5000)) / 1000.0;
    return config;
  }

 private:
  int Draw(int below) { return static_cast<int>(bits_() % below); }

  void Fill(MethodPolicy* policy) {
    if (Draw(2) == 0) policy->timeout = Duration(1 + bits_() % (1ull << 60));
    RetryPolicy& retry = policy->retry;
    retry.max_attempts = 1 + Draw(5);
    retry.backoff.initial_backoff = Duration(1 + Draw(2'000'000'000));
    retry.backoff.max_backoff =
        retry.backoff.initial_backoff + Duration(Draw(2'000'000'000));
    retry.backoff.backoff_multiplier = 1 + Draw(999'000) / 1000.0;
    retry.backoff.jitter = Jitter::kRatio;
    retry.retryable_status_codes.emplace();
    if (Draw(2) == 0) {
      retry.retryable_status_codes->insert(StatusCode::UNAVAILABLE);
      return;
    }
    retry.idempotency = Idempotency::kIdempotent;
    retry.retryable_status_codes->insert(StatusCode::INTERNAL);
    retry.retryable_status_codes->insert(static_cast<StatusCode>(2 + Draw(15)));
  }

  std::mt19937_64 bits_{20'170'401};
};

TEST(ServiceConfigRoundTripTest, WhatBothCanSayComesBackWhole) {
  RandomConfigs configs;
  for (int i = 0; i < 300; ++i) {
    const Config config = configs.Next();
    EXPECT_THAT(Export(config).differences, IsEmpty());
    EXPECT_EQ(There(config), TextOf(config)) << Export(config).json;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

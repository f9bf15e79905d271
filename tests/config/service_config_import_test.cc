#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/config_text.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience::internal {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

ServiceConfigImport Import(const std::string& json) {
  absl::StatusOr<ServiceConfigImport> import = ImportServiceConfig(json);
  EXPECT_TRUE(import.ok()) << import.status();
  if (import.ok()) return *std::move(import);
  ServiceConfigImport nothing;
  nothing.config.DefaultMethod().retry.retryable_status_codes.emplace();
  return nothing;
}

constexpr char kNothingElse[] = "default: 1 attempts";
constexpr char kDefaultThrottle[] = "throttle: 1 16 2";

// One methodConfig for every method with that retryPolicy.
std::string WithRetry(const std::string& fields) {
  return R"({"methodConfig": [{"name": [{}], "retryPolicy": {)" + fields +
         "}}]}";
}

std::string WithCodes(const std::string& codes) {
  return WithRetry(
      R"("maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s",
         "backoffMultiplier": 2, "retryableStatusCodes": )" +
      codes);
}

RetryPolicy DefaultRetryOf(const ServiceConfigImport& import) {
  return import.config.default_method()->retry;
}

TEST(ServiceConfigImportTest, AHedgingPolicy) {
  const ServiceConfigImport import = Import(R"({"methodConfig": [
      {"name": [{"service": "a.B"}],
       "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.02s",
                         "nonFatalStatusCodes": ["UNAVAILABLE", 8]}},
      {"name": [{"service": "a.C"}], "hedgingPolicy": {"maxAttempts": 2}}]})");
  EXPECT_THAT(TextOf(import.config),
              ElementsAre("/a.B/*: 1 attempts; hedged, 3 after 20 ms, "
                          "RESOURCE_EXHAUSTED, UNAVAILABLE; idempotency 1",
                          "/a.C/*: 1 attempts; hedged, 2 after 0 s; "
                          "idempotency 1",
                          kNothingElse, kDefaultThrottle));
}

TEST(ServiceConfigImportTest, AWholeConfig) {
  const ServiceConfigImport import = Import(R"({
    "methodConfig": [
      {"name": [{"service": "shop.Inventory", "method": "GetStock"},
                {"service": "shop.Prices", "method": ""}],
       "timeout": "2s",
       "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.05s",
         "maxBackoff": "1s", "backoffMultiplier": 1.6,
         "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}},
      {"name": [{"service": "shop.Inventory"}], "timeout": "0.25s"},
      {"name": [{}], "timeout": "10s", "waitForReady": false}],
    "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.5}})");
  EXPECT_THAT(
      TextOf(import.config),
      ElementsAre(
          "/shop.Inventory/*: timeout 250 ms; 1 attempts",
          "/shop.Inventory/GetStock: timeout 2 s; 4 attempts, 50 ms to "
          "1 s x1.6, jitter 4/0.2, RESOURCE_EXHAUSTED, UNAVAILABLE; "
          "idempotency 0",
          "/shop.Prices/*: timeout 2 s; 4 attempts, 50 ms to 1 s x1.6, "
          "jitter 4/0.2, RESOURCE_EXHAUSTED, UNAVAILABLE; idempotency 0",
          "default: timeout 10 s; 1 attempts", "throttle: 1 20 0.5"));
  EXPECT_THAT(
      TextOf(import.differences),
      ElementsAre(AllOf(StartsWith("$.retryThrottling = {"),
                        HasSubstr("opens when more than about 33.3 %"))));
  EXPECT_TRUE(import.config.Validate().ok());
}

TEST(ServiceConfigImportTest, NothingIsRetriedThatGrpcWouldNotRetry) {
  for (const char* json :
       {"{}", R"({"methodConfig": []})", R"({"methodConfig": null})",
        R"({"methodConfig": [{"name": [{"service": null}],
                              "retryPolicy": null}]})"}) {
    const ServiceConfigImport import = Import(json);
    EXPECT_THAT(TextOf(import.config),
                ElementsAre(kNothingElse, kDefaultThrottle))
        << json;
    EXPECT_THAT(import.differences, IsEmpty()) << json;
  }
}

// --- Status codes
// ---------------------------------------------------------------

TEST(ServiceConfigImportTest, CodesByNameInAnyCaseAndByNumber) {
  const RetryPolicy retry = DefaultRetryOf(
      Import(WithCodes(R"(["unavailable", 8, "Unavailable", 14])")));
  EXPECT_THAT(
      *retry.retryable_status_codes,
      ElementsAre(StatusCode::RESOURCE_EXHAUSTED, StatusCode::UNAVAILABLE));
  EXPECT_EQ(retry.idempotency, Idempotency::kFromProto);
}

TEST(ServiceConfigImportTest, EveryCodeHasItsNameAndNumber) {
  for (int code = 2; code <= 16; ++code) {
    const std::string name = StatusCodeName(static_cast<StatusCode>(code));
    const RetryPolicy by_name =
        DefaultRetryOf(Import(WithCodes("[\"" + name + "\"]")));
    const RetryPolicy by_number =
        DefaultRetryOf(Import(WithCodes("[" + std::to_string(code) + "]")));
    EXPECT_THAT(*by_name.retryable_status_codes,
                ElementsAre(static_cast<StatusCode>(code)));
    EXPECT_EQ(by_name.retryable_status_codes, by_number.retryable_status_codes);
  }
}

TEST(ServiceConfigImportTest, CodesThatMayComeTooLateDeclareIdempotency) {
  const ServiceConfigImport import =
      Import(WithCodes(R"(["UNAVAILABLE", "INTERNAL", "ABORTED"])"));
  EXPECT_EQ(DefaultRetryOf(import).idempotency, Idempotency::kIdempotent);
  EXPECT_THAT(
      TextOf(import.differences),
      ElementsAre(AllOf(
          StartsWith("$.methodConfig[0].retryPolicy.retryableStatusCodes = ["),
          HasSubstr("declared idempotent"), HasSubstr("INTERNAL, ABORTED"),
          Not(HasSubstr("after UNAVAILABLE")))));
}

TEST(ServiceConfigImportTest, OkAndCancelledAreNeverRetried) {
  const ServiceConfigImport import = Import(WithCodes(R"(["CANCELLED", 0])"));
  EXPECT_THAT(*DefaultRetryOf(import).retryable_status_codes, IsEmpty());
  EXPECT_THAT(
      TextOf(import.differences),
      ElementsAre(
          "$.methodConfig[0].retryPolicy.retryableStatusCodes[0] = "
          "\"CANCELLED\": never retried",
          "$.methodConfig[0].retryPolicy.retryableStatusCodes[1] = 0: never "
          "retried"));
}

// --- What can't be expressed
// ----------------------------------------------------

struct DifferenceCase {
  const char* name;
  const char* json;
  const char* path_and_value;
  const char* instead;
};

class ServiceConfigDifferenceTest
    : public testing::TestWithParam<DifferenceCase> {};

TEST_P(ServiceConfigDifferenceTest, IsNamed) {
  EXPECT_THAT(TextOf(Import(GetParam().json).differences),
              Contains(AllOf(StartsWith(GetParam().path_and_value),
                             HasSubstr(GetParam().instead))));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ServiceConfigDifferenceTest,
    testing::Values(
        DifferenceCase{
            "WaitForReady",
            R"({"methodConfig": [{"name": [{}], "waitForReady": true}]})",
            "$.methodConfig[0].waitForReady = true: ", "set_wait_for_ready"},
        DifferenceCase{
            "Hedging",
            R"({"methodConfig": [{"name": [{}],
                "hedgingPolicy": {"maxAttempts": 3}}]})",
            R"($.methodConfig[0].hedgingPolicy = {"maxAttempts":3}: )",
            "declared idempotent"},
        DifferenceCase{"ManyHedges",
                       R"({"methodConfig": [{"name": [{}],
                "hedgingPolicy": {"maxAttempts": 7}}]})",
                       "$.methodConfig[0].hedgingPolicy.maxAttempts = 7: 5",
                       "hedging.max_hedged_attempts"},
        DifferenceCase{"UnknownInAHedgingPolicy",
                       R"({"methodConfig": [{"name": [{}],
                "hedgingPolicy": {"maxAttempts": 2, "x": 1}}]})",
                       "$.methodConfig[0].hedgingPolicy.x = 1: ", "not read"},
        DifferenceCase{"NoName", R"({"methodConfig": [{"timeout": "1s"}]})",
                       R"($.methodConfig[0] = {"timeout":"1s"}: )",
                       "no method"},
        DifferenceCase{"UnknownAtTheTop",
                       R"({"loadBalancingPolicy": "round_robin"})",
                       "$.loadBalancingPolicy = \"round_robin\": ", "not read"},
        DifferenceCase{
            "UnknownInAMethod",
            R"({"methodConfig": [{"name": [{}],
                           "maxRequestMessageBytes": 4}]})",
            "$.methodConfig[0].maxRequestMessageBytes = 4: ", "not read"},
        DifferenceCase{"UnknownInAName",
                       R"({"methodConfig": [{"name": [{"a b": 1}]}]})",
                       R"($.methodConfig[0].name[0]["a b"] = 1: )", "not read"},
        DifferenceCase{
            "UnknownInARetryPolicy",
            R"({"methodConfig": [{"name": [{}], "retryPolicy": {
                "maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "1s",
                "backoffMultiplier": 1, "retryableStatusCodes": [14],
                "perAttemptRecvTimeout": "1s"}}]})",
            R"($.methodConfig[0].retryPolicy.perAttemptRecvTimeout = "1s": )",
            "not read"},
        DifferenceCase{
            "UnknownInTheThrottle",
            R"({"retryThrottling": {"maxTokens": 1, "tokenRatio": 1, "x": 1}})",
            "$.retryThrottling.x = 1: ", "not read"},
        DifferenceCase{
            "LargeTokenRatio",
            R"({"retryThrottling": {"maxTokens": 1, "tokenRatio": 1001}})",
            "$.retryThrottling.tokenRatio = 1001: ", "1000"}),
    [](const auto& of) { return of.param.name; });

TEST(ServiceConfigImportTest, FieldsOutOfOurRangesTakeTheNearestValue) {
  struct Case {
    const char* fields;
    const char* policy;
    const char* difference;
  };
  const Case kCases[] = {
      {R"("maxAttempts": 6, "initialBackoff": "1s", "maxBackoff": "2s",
          "backoffMultiplier": 2)",
       "5 attempts, 1 s to 2 s x2", "maxAttempts = 6: 5"},
      {R"("maxAttempts": 2, "initialBackoff": "3s", "maxBackoff": "2s",
          "backoffMultiplier": 2)",
       "2 attempts, 2 s to 2 s x2",
       "initialBackoff = \"3s\": maxBackoff (2 s)"},
      {R"("maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "2s",
          "backoffMultiplier": 0.5)",
       "2 attempts, 1 s to 2 s x1,", "backoffMultiplier = 0.5: 1"},
      {R"("maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "2s",
          "backoffMultiplier": 2000)",
       "2 attempts, 1 s to 2 s x1000", "backoffMultiplier = 2000: 1000"},
  };
  for (const Case& c : kCases) {
    const ServiceConfigImport import = Import(
        WithRetry(std::string(c.fields) + R"(, "retryableStatusCodes": [14])"));
    EXPECT_THAT(TextOf(*import.config.default_method()), StartsWith(c.policy));
    EXPECT_THAT(TextOf(import.differences),
                ElementsAre(HasSubstr(c.difference)));
  }
}

TEST(ServiceConfigImportTest, FiveAttemptsAreAsSet) {
  const ServiceConfigImport import =
      Import(WithRetry(R"("maxAttempts": 5, "initialBackoff": "1s",
          "maxBackoff": "1s", "backoffMultiplier": 1,
          "retryableStatusCodes": ["UNAVAILABLE"])"));
  EXPECT_EQ(DefaultRetryOf(import).max_attempts, 5);
  EXPECT_THAT(import.differences, IsEmpty());
}

TEST(ServiceConfigImportTest, LongValuesAreCutBetweenCharacters) {
  std::string odd(1, 'x');
  for (int i = 0; i < 200; ++i) odd += "ä";
  for (const std::string& text : {odd, odd.substr(1)}) {
    const ServiceConfigImport import = Import("{\"x\": \"" + text + "\"}");
    ASSERT_EQ(import.differences.size(), 1u);
    const std::string& value = import.differences[0].value;
    EXPECT_LT(value.size(), 170u);
    EXPECT_THAT(value, testing::EndsWith("ä…"));
  }
}

TEST(ServiceConfigImportTest, DurationsToTheNanosecondAndBeyondTheClock) {
  struct Case {
    const char* text;
    Duration value;
  };
  const Case kCases[] = {
      {"0.000000001s", Duration(1)},
      {"1.5s", std::chrono::milliseconds(1500)},
      {"3600s", std::chrono::hours(1)},
      {"9223372035.999999999s", Duration(9'223'372'035'999'999'999)},
      {"315576000000s", Duration::max()},
  };
  for (const Case& c : kCases) {
    const ServiceConfigImport import =
        Import(R"({"methodConfig": [{"name": [{}], "timeout": ")" +
               std::string(c.text) + "\"}]}");
    EXPECT_EQ(import.config.default_method()->timeout, c.value) << c.text;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

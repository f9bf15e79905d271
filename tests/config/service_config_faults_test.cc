// What an import refuses: every fault at once, each with path, value and what is
// allowed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string FaultsOf(const std::string& json) {
  const absl::StatusOr<ServiceConfigImport> import = ImportServiceConfig(json);
  if (import.ok()) return "OK";
  EXPECT_EQ(import.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(import.status().message());
}

struct FaultCase {
  const char* name;
  const char* json;
  const char* faults;  // exactly
};

class ServiceConfigFaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(ServiceConfigFaultTest, IsNamed) {
  EXPECT_EQ(FaultsOf(GetParam().json), GetParam().faults);
}

constexpr auto NameOfCase = [](const auto& of) { return of.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Structure, ServiceConfigFaultTest,
    testing::Values(
        FaultCase{"MethodConfigIsNoList", R"({"methodConfig": {}})",
                  "$.methodConfig = {}: must be a list"},
        FaultCase{"MethodConfigHoldsNull", R"({"methodConfig": [null]})",
                  "$.methodConfig[0] = null: must be an object"},
        FaultCase{"NameIsNoList", R"({"methodConfig": [{"name": {}}]})",
                  "$.methodConfig[0].name = {}: must be a list"},
        FaultCase{"NameHoldsText", R"({"methodConfig": [{"name": ["a"]}]})",
                  "$.methodConfig[0].name[0] = \"a\": must be an object"},
        FaultCase{"WaitForReady",
                  R"({"methodConfig": [{"name": [{}], "waitForReady": 1}]})",
                  "$.methodConfig[0].waitForReady = 1: must be true or false"},
        FaultCase{"RetryPolicyIsNoObject",
                  R"({"methodConfig": [{"name": [{}], "retryPolicy": 3}]})",
                  "$.methodConfig[0].retryPolicy = 3: must be an object"},
        FaultCase{"HedgingPolicyIsNoObject",
                  R"({"methodConfig": [{"name": [{}], "hedgingPolicy": []}]})",
                  "$.methodConfig[0].hedgingPolicy = []: must be an object"},
        FaultCase{"RetryThrottlingIsNoObject", R"({"retryThrottling": "on"})",
                  "$.retryThrottling = \"on\": must be an object"}),
    NameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Names, ServiceConfigFaultTest,
    testing::Values(
        FaultCase{"MethodWithoutService",
                  R"({"methodConfig": [{"name": [{"method": "M"}]}]})",
                  "$.methodConfig[0].name[0] = {\"method\":\"M\"}: a method "
                  "needs its service"},
        FaultCase{"ServiceIsANumber",
                  R"({"methodConfig": [{"name": [{"service": 1}]}]})",
                  "$.methodConfig[0].name[0].service = 1: must be a string"},
        FaultCase{"ServiceWithASlash",
                  R"({"methodConfig": [{"name": [{"service": "/a.B"}]}]})",
                  "$.methodConfig[0].name[0].service = \"/a.B\": must be "
                  "without '/', '*' and space"},
        FaultCase{
            "MethodIsAStar",
            R"({"methodConfig": [{"name": [{"service": "a", "method": "*"}]}]})",
            "$.methodConfig[0].name[0].method = \"*\": must be without '/', "
            "'*' and space"},
        FaultCase{"TwiceInOneList",
                  R"({"methodConfig": [{"name": [{"service": "a"},
                                                 {"service": "a"}]}]})",
                  "$.methodConfig[0].name[1] = {\"service\":\"a\"}: must be "
                  "there once; it is $.methodConfig[0].name[0] too"},
        FaultCase{"TheDefaultTwice",
                  R"({"methodConfig": [{"name": [{}]}, {"name": [{}]}]})",
                  "$.methodConfig[1].name[0] = {}: must be there once; it is "
                  "$.methodConfig[0].name[0] too"}),
    NameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Throttle, ServiceConfigFaultTest,
    testing::Values(
        FaultCase{"Empty", R"({"retryThrottling": {}})",
                  "$.retryThrottling.maxTokens is missing: must be a whole "
                  "number in [1, 1000]\n"
                  "$.retryThrottling.tokenRatio is missing: must be a number > "
                  "0"},
        FaultCase{"TooSmall",
                  R"({"retryThrottling": {"maxTokens": 0, "tokenRatio": 0}})",
                  "$.retryThrottling.maxTokens = 0: must be a whole number in "
                  "[1, 1000]\n"
                  "$.retryThrottling.tokenRatio = 0: must be >= 0.001"},
        FaultCase{"Negative",
                  R"({"retryThrottling": {"maxTokens": -5, "tokenRatio": -1}})",
                  "$.retryThrottling.maxTokens = -5: must be a whole number in "
                  "[1, 1000]\n"
                  "$.retryThrottling.tokenRatio = -1: must be >= 0.001"},
        FaultCase{"TooLargeOrText",
                  R"({"retryThrottling": {"maxTokens": 1001,
                                          "tokenRatio": "NaN"}})",
                  "$.retryThrottling.maxTokens = 1001: must be a whole number "
                  "in [1, 1000]\n"
                  "$.retryThrottling.tokenRatio = \"NaN\": must be a number"},
        FaultCase{
            "Fraction",
            R"({"retryThrottling": {"maxTokens": 1.5,
                                          "tokenRatio": 0.001}})",
            "$.retryThrottling.maxTokens = 1.5: must be a whole number in "
            "[1, 1000]"}),
    NameOfCase);

// --- Fields of a retryPolicy
// ----------------------------------------------------

struct RetryFaultCase {
  const char* name;
  const char* field;
  const char* value;  // empty: left out
  const char* fault;
};

class RetryPolicyFaultTest : public testing::TestWithParam<RetryFaultCase> {};

// A good policy in which one field isn't.
TEST_P(RetryPolicyFaultTest, IsNamed) {
  std::string policy =
      R"({"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s",
          "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]})";
  const std::string whole =
      R"({"methodConfig": [{"name": [{}], "retryPolicy": POLICY}]})";
  ASSERT_EQ(FaultsOf(absl::StrReplaceAll(whole, {{"POLICY", policy}})), "OK");

  const RetryFaultCase& c = GetParam();
  const std::string key = absl::StrCat("\"", c.field, "\": ");
  const std::size_t begin = policy.find(key);
  ASSERT_NE(begin, std::string::npos);
  std::size_t end = policy.find_first_of(",}", begin);
  const std::string replacement =
      *c.value == '\0' ? key + "null" : key + c.value;
  policy.replace(begin, end - begin, replacement);
  EXPECT_EQ(FaultsOf(absl::StrReplaceAll(whole, {{"POLICY", policy}})),
            absl::StrCat("$.methodConfig[0].retryPolicy.", c.fault));
}

constexpr char kBadInitial[] =
    ": must be a duration > 0, as \"1.5s\" with at most 9 decimals";

INSTANTIATE_TEST_SUITE_P(
    Fields, RetryPolicyFaultTest,
    testing::Values(
        RetryFaultCase{"AttemptsMissing", "maxAttempts", "",
                       "maxAttempts is missing: must be a whole number >= 2"},
        RetryFaultCase{"OneAttempt", "maxAttempts", "1",
                       "maxAttempts = 1: must be a whole number in [2, "
                       "2147483647]"},
        RetryFaultCase{"NegativeAttempts", "maxAttempts", "-3",
                       "maxAttempts = -3: must be a whole number in [2, "
                       "2147483647]"},
        RetryFaultCase{"HalfAnAttempt", "maxAttempts", "2.5",
                       "maxAttempts = 2.5: must be a whole number in [2, "
                       "2147483647]"},
        RetryFaultCase{"VeryManyAttempts", "maxAttempts", "1e10",
                       "maxAttempts = 10000000000: must be a whole number in "
                       "[2, 2147483647]"},
        RetryFaultCase{"AttemptsAsText", "maxAttempts", "\"3\"",
                       "maxAttempts = \"3\": must be a number"},
        RetryFaultCase{"InitialMissing", "initialBackoff", "",
                       "initialBackoff is missing: must be a duration > 0, as "
                       "\"0.05s\""},
        RetryFaultCase{"MostMissing", "maxBackoff", "",
                       "maxBackoff is missing: must be a duration > 0, as "
                       "\"0.05s\""},
        RetryFaultCase{"MultiplierMissing", "backoffMultiplier", "",
                       "backoffMultiplier is missing: must be a number > 0"},
        RetryFaultCase{"MultiplierZero", "backoffMultiplier", "0",
                       "backoffMultiplier = 0: must be > 0"},
        RetryFaultCase{"MultiplierNegative", "backoffMultiplier", "-2",
                       "backoffMultiplier = -2: must be > 0"},
        RetryFaultCase{"MultiplierNaN", "backoffMultiplier", "\"NaN\"",
                       "backoffMultiplier = \"NaN\": must be a number"},
        RetryFaultCase{"CodesMissing", "retryableStatusCodes", "",
                       "retryableStatusCodes is missing: must be a list of "
                       "status codes"},
        RetryFaultCase{"NoCodes", "retryableStatusCodes", "[]",
                       "retryableStatusCodes = []: must not be empty"},
        RetryFaultCase{"CodesAsText", "retryableStatusCodes", "\"UNAVAILABLE\"",
                       "retryableStatusCodes = \"UNAVAILABLE\": must be a "
                       "list"},
        RetryFaultCase{"UnknownCode", "retryableStatusCodes", "[\"BUSY\"]",
                       "retryableStatusCodes[0] = \"BUSY\": must be a status "
                       "code, as \"UNAVAILABLE\" or 14"},
        RetryFaultCase{"CodeBeyondTheLast", "retryableStatusCodes", "[17]",
                       "retryableStatusCodes[0] = 17: must be a status code, "
                       "as \"UNAVAILABLE\" or 14"},
        RetryFaultCase{"HalfACode", "retryableStatusCodes", "[14.5]",
                       "retryableStatusCodes[0] = 14.5: must be a status code, "
                       "as \"UNAVAILABLE\" or 14"},
        RetryFaultCase{"NullCode", "retryableStatusCodes", "[null]",
                       "retryableStatusCodes[0] = null: must be a status code, "
                       "as \"UNAVAILABLE\" or 14"}),
    [](const auto& of) { return of.param.name; });

TEST(ServiceConfigFaultsTest, MalformedDurations) {
  for (const char* text :
       {"0s", "-1s", "-0.5s", "1", "s", "", "1.s", ".5s", " 1s", "1s ", "+1s",
        "1e3s", "0.0000000001s", "1ms", "1.5.5s", "NaNs", "--1s"}) {
    EXPECT_EQ(
        FaultsOf(absl::StrCat(
            R"({"methodConfig": [{"name": [{}], "timeout": ")", text, "\"}]}")),
        absl::StrCat("$.methodConfig[0].timeout = \"", text, "\"",
                     kBadInitial));
  }
  for (const char* text : {"315576000001s", "99999999999999999999s"}) {
    EXPECT_THAT(
        FaultsOf(absl::StrCat(
            R"({"methodConfig": [{"name": [{}], "timeout": ")", text, "\"}]}")),
        testing::EndsWith("and at most 315576000000s"));
  }
  EXPECT_EQ(FaultsOf(R"({"methodConfig": [{"name": [{}], "timeout": 5}]})"),
            absl::StrCat("$.methodConfig[0].timeout = 5", kBadInitial));
}

TEST(ServiceConfigFaultsTest, AllAtOnce) {
  EXPECT_EQ(
      FaultsOf(R"({
    "methodConfig": [
      {"name": [{"service": "a"}], "timeout": "soon",
       "retryPolicy": {"maxAttempts": 1, "initialBackoff": "1s",
                       "maxBackoff": "2s", "backoffMultiplier": 2,
                       "retryableStatusCodes": ["UNAVAILABLE", "BUSY"]},
       "hedgingPolicy": {}},
      {"name": [{"service": "a"}]}],
    "retryThrottling": {"maxTokens": 10}})"),
      absl::StrCat(
          "$.methodConfig[0].timeout = \"soon\"", kBadInitial, "\n",
          R"($.methodConfig[0].retryPolicy.maxAttempts = 1: must be a whole number in [2, 2147483647]
$.methodConfig[0].retryPolicy.retryableStatusCodes[1] = "BUSY": must be a status code, as "UNAVAILABLE" or 14
$.methodConfig[0].hedgingPolicy = {}: can't be beside a retryPolicy
$.methodConfig[1].name[0] = {"service":"a"}: must be there once; it is $.methodConfig[0].name[0] too
$.retryThrottling.tokenRatio is missing: must be a number > 0)"));
}

TEST(ServiceConfigFaultsTest, WhatIsNoJson) {
  for (const std::string& json :
       {std::string(""), std::string("{"), std::string("[]"),
        std::string("null"), std::string("3"), std::string("{} x"),
        std::string(R"({"a": NaN})"), std::string(R"({"a": 1e999})"),
        std::string(R"({"a": 1, "a": 2})"), std::string("{\"a\": \"\xff\"}"),
        std::string("\0{}", 3)}) {
    const std::string faults = FaultsOf(json);
    EXPECT_THAT(faults, StartsWith("$: must be a JSON object: ")) << json;
    EXPECT_EQ(faults.find('\n'), std::string::npos) << faults;
  }
  EXPECT_THAT(FaultsOf(R"({"timeout": NaN})"), HasSubstr("Near: NaN"));
  EXPECT_THAT(FaultsOf(R"({"a": 1, "a": 2})"), HasSubstr("'a'"));
}

TEST(ServiceConfigFaultsTest, DeepNestingIsRefused) {
  std::string json;
  for (int i = 0; i < 100'000; ++i) json += "{\"a\":";
  EXPECT_THAT(FaultsOf(json), StartsWith("$: must be a JSON object: "));
}

}  // namespace
}  // namespace grpc_resilience

#include "core/config_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string FaultsOfConfig(const std::function<void(Config&)>& change) {
  Config config;
  change(config);
  const absl::Status status = ValidateConfig(config);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::string FaultsOfMethod(const std::function<void(MethodPolicy&)>& change) {
  return FaultsOfConfig(
      [&](Config& config) { change(config.Method("/a.B/C")); });
}

std::string FaultsOfTarget(const std::function<void(TargetConfig&)>& change) {
  return FaultsOfConfig([&](Config& config) { change(config.Target("t:1")); });
}

// --- Method policies: "method "/a.B/C": " goes before each
// ----------------------

struct MethodCase {
  std::function<void(MethodPolicy&)> change;
  std::string fault;
};

// B13 and its kind
TEST(ConfigValidationTest, NamesEachBadFieldOfAMethodPolicy) {
  const std::vector<MethodCase> cases = {
      {[](auto& m) { m.retry.max_attempts = 0; },
       "retry.max_attempts = 0: must be >= 1"},
      {[](auto& m) { m.retry.max_attempts = -3; },
       "retry.max_attempts = -3: must be >= 1"},
      {[](auto& m) { m.retry.backoff.initial_backoff = seconds(0); },
       "retry.backoff.initial_backoff = 0 s: must be > 0"},
      {[](auto& m) { m.retry.backoff.max_backoff = milliseconds(49); },
       "retry.backoff.max_backoff = 49 ms: must be >= "
       "retry.backoff.initial_backoff (50 ms)"},
      {[](auto& m) { m.retry.backoff.backoff_multiplier = 0.5; },
       "retry.backoff.backoff_multiplier = 0.5: must be in [1, 1000]"},
      {[](auto& m) { m.retry.backoff.backoff_multiplier = kNaN; },
       "retry.backoff.backoff_multiplier = nan: must be in [1, 1000]"},
      {[](auto& m) { m.retry.backoff.backoff_multiplier = kInfinity; },
       "retry.backoff.backoff_multiplier = inf: must be in [1, 1000]"},
      {[](auto& m) { m.retry.backoff.jitter = static_cast<Jitter>(9); },
       "retry.backoff.jitter = 9: not a value of its enum"},
      {[](auto& m) { m.retry.backoff.jitter_ratio = -0.1; },
       "retry.backoff.jitter_ratio = -0.1: must be in [0, 10]"},
      {[](auto& m) { m.retry.backoff.jitter_ratio = kNaN; },
       "retry.backoff.jitter_ratio = nan: must be in [0, 10]"},
      {[](auto& m) { m.retry.per_attempt_timeout = seconds(0); },
       "retry.per_attempt_timeout = 0 s: must be > 0"},
      {[](auto& m) { m.retry.per_attempt_timeout = milliseconds(-5); },
       "retry.per_attempt_timeout = -5 ms: must be > 0"},
      {[](auto& m) { m.retry.idempotency = static_cast<Idempotency>(-1); },
       "retry.idempotency = -1: not a value of its enum"},
      {[](auto& m) { m.retry.min_attempt_time = Duration(-1); },
       "retry.min_attempt_time = -1 ns: must be >= 0"},
      {[](auto& m) { m.retry.reserve = Duration::min(); },
       "retry.reserve = -9223372036854775808 ns: must be >= 0"},
      {[](auto& m) { m.timeout = seconds(0); }, "timeout = 0 s: must be > 0"},
      {[](auto& m) { m.message_kind = static_cast<MessageKind>(2); },
       "message_kind = 2: not a value of its enum"},
  };
  for (const MethodCase& c : cases) {
    EXPECT_EQ(FaultsOfMethod(c.change), "method \"/a.B/C\": " + c.fault);
  }
}

TEST(ConfigValidationTest, RejectsCodesThatCannotBeRetried) {
  const auto faults = [](StatusCode code) {
    return FaultsOfMethod([&](MethodPolicy& m) {
      m.retry.idempotency = Idempotency::kIdempotent;
      m.retry.retryable_status_codes = {code};
    });
  };
  EXPECT_EQ(faults(StatusCode::OK),
            "method \"/a.B/C\": retry.retryable_status_codes contains OK: "
            "never retried");
  EXPECT_EQ(faults(StatusCode::CANCELLED),
            "method \"/a.B/C\": retry.retryable_status_codes contains "
            "CANCELLED: never retried");
  EXPECT_EQ(faults(static_cast<StatusCode>(17)),
            "method \"/a.B/C\": retry.retryable_status_codes contains CODE_17: "
            "not a gRPC status code");
  for (int code = 2; code <= 16; ++code) {
    EXPECT_EQ(faults(static_cast<StatusCode>(code)), "");
  }
}

constexpr char kInVain[] =
    "must be UNAVAILABLE or RESOURCE_EXHAUSTED, unless retry.idempotency is "
    "kIdempotent or retry.idempotency_key_header is set";

TEST(ConfigValidationTest, CodesAfterAnEffectNeedADeclaredIdempotentMethod) {
  const auto faults = [](std::string_view pattern, RetryPolicy retry) {
    return FaultsOfConfig(
        [&](Config& config) { config.Method(pattern).retry = retry; });
  };
  RetryPolicy retry;
  retry.retryable_status_codes = {StatusCode::UNAVAILABLE,
                                  StatusCode::RESOURCE_EXHAUSTED};
  EXPECT_EQ(faults("/a.B/C", retry), "");
  retry.retryable_status_codes->insert(StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(faults("/a.B/C", retry),
            std::string("method \"/a.B/C\": retry.retryable_status_codes "
                        "contains DEADLINE_EXCEEDED: ") +
                kInVain);
  EXPECT_EQ(faults("/a.B/*", retry), "");  // some of them may be idempotent
  retry.idempotency = Idempotency::kNonIdempotent;
  EXPECT_THAT(faults("/a.B/C", retry), testing::HasSubstr(kInVain));
  EXPECT_THAT(faults("/a.B/*", retry), testing::HasSubstr(kInVain));
  retry.idempotency = Idempotency::kIdempotent;
  EXPECT_EQ(faults("/a.B/C", retry), "");
  retry.idempotency = Idempotency::kFromProto;
  retry.idempotency_key_header = "idempotency-key";
  EXPECT_EQ(faults("/a.B/C", retry), "");
}

TEST(ConfigValidationTest, KeyHeadersAreHeaderNames) {
  const auto faults = [](std::string name) {
    return FaultsOfMethod(
        [&](MethodPolicy& m) { m.retry.idempotency_key_header = name; });
  };
  for (const char* good : {"idempotency-key", "x_key.2", "0"}) {
    EXPECT_EQ(faults(good), "");
  }
  for (const char* bad : {"", "Idempotency-Key", "a b", ":path", "k\n", "é"}) {
    EXPECT_THAT(faults(bad), testing::HasSubstr("must be a header name"))
        << bad;
  }
  EXPECT_EQ(faults("grpc-key"),
            "method \"/a.B/C\": retry.idempotency_key_header = \"grpc-key\": "
            "\"grpc-\" names belong to gRPC");
  EXPECT_EQ(faults("key-bin"),
            "method \"/a.B/C\": retry.idempotency_key_header = \"key-bin\": "
            "\"-bin\" names hold binary values");
}

TEST(ConfigValidationTest, AKeyContradictsANonIdempotentMethod) {
  EXPECT_EQ(FaultsOfMethod([](MethodPolicy& m) {
              m.retry.idempotency = Idempotency::kNonIdempotent;
              m.retry.idempotency_key_header = "key";
            }),
            "method \"/a.B/C\": retry.idempotency_key_header = \"key\": "
            "contradicts retry.idempotency = kNonIdempotent");
}

// E07
TEST(ConfigValidationTest, PatternsHaveOneOfTwoShapes) {
  const auto faults = [](std::string_view pattern) {
    return FaultsOfConfig([&](Config& config) { config.Method(pattern); });
  };
  for (const char* good : {"/pkg.S/M", "/pkg.S/*", "/S/M", "/a.b.C_1/d"}) {
    EXPECT_EQ(faults(good), "");
  }
  EXPECT_EQ(faults("pkg.S/M"),
            "method \"pkg.S/M\": must begin with a slash: \"/pkg.S/M\"");
  EXPECT_EQ(faults("pkg.S/*"),
            "method \"pkg.S/*\": must begin with a slash: \"/pkg.S/*\"");
  for (const char* all : {"*", "/*", "/*/*"}) {
    EXPECT_THAT(faults(all), testing::HasSubstr("DefaultMethod()")) << all;
  }
  for (const char* bad : {"", "/", "//", "/S", "/S/", "//M", "/S/M/", "/S/M*",
                          "/S*/M", "/*/M", "/S/M N", " /S/M", "/S/M\n"}) {
    EXPECT_THAT(faults(bad), testing::HasSubstr("must look like")) << bad;
  }
}

// --- Targets: "target "t:1": " goes before each
// ----------------------------------

struct TargetCase {
  std::function<void(TargetConfig&)> change;
  std::string fault;
};

// D18
TEST(ConfigValidationTest, NamesEachBadFieldOfATarget) {
  const std::vector<TargetCase> cases = {
      {[](auto& t) { t.breaker.mode = static_cast<BreakerMode>(5); },
       "breaker.mode = 5: not a value of its enum"},
      {[](auto& t) { t.breaker.scope = static_cast<BreakerScope>(5); },
       "breaker.scope = 5: not a value of its enum"},
      {[](auto& t) { t.breaker.counts = static_cast<BreakerCounts>(5); },
       "breaker.counts = 5: not a value of its enum"},
      {[](auto& t) { t.breaker.failure_rate_threshold = 0; },
       "breaker.failure_rate_threshold = 0: must be in (0, 1]"},
      {[](auto& t) { t.breaker.failure_rate_threshold = -1; },
       "breaker.failure_rate_threshold = -1: must be in (0, 1]"},
      {[](auto& t) { t.breaker.failure_rate_threshold = 1.01; },
       "breaker.failure_rate_threshold = 1.01: must be in (0, 1]"},
      {[](auto& t) { t.breaker.failure_rate_threshold = kNaN; },
       "breaker.failure_rate_threshold = nan: must be in (0, 1]"},
      {[](auto& t) { t.breaker.failure_rate_threshold = kInfinity; },
       "breaker.failure_rate_threshold = inf: must be in (0, 1]"},
      {[](auto& t) { t.breaker.window_calls = 100001; },
       "breaker.window_calls = 100001: must be in [1, 100000]"},
      {[](auto& t) { t.breaker.minimum_calls = 0; },
       "breaker.minimum_calls = 0: must be in [1, breaker.window_calls (20)]"},
      {[](auto& t) { t.breaker.minimum_calls = 21; },
       "breaker.minimum_calls = 21: must be in [1, breaker.window_calls (20)]"},
      {[](auto& t) { t.breaker.open_duration = seconds(0); },
       "breaker.open_duration = 0 s: must be > 0"},
      {[](auto& t) { t.breaker.open_duration = seconds(-1); },
       "breaker.open_duration = -1 s: must be > 0"},
      {[](auto& t) { t.breaker.open_duration_multiplier = 0.9; },
       "breaker.open_duration_multiplier = 0.9: must be in [1, 1000]"},
      {[](auto& t) { t.breaker.open_duration_multiplier = kNaN; },
       "breaker.open_duration_multiplier = nan: must be in [1, 1000]"},
      {[](auto& t) {
         t.breaker.open_duration = seconds(2);
         t.breaker.max_open_duration = seconds(1);
       },
       "breaker.max_open_duration = 1 s: must be >= breaker.open_duration "
       "(2 s)"},
      {[](auto& t) { t.breaker.max_open_duration = milliseconds(99); },
       "breaker.max_open_duration = 99 ms: must be >= breaker.open_duration "
       "(100 ms)"},
      {[](auto& t) { t.breaker.open_duration_jitter = 1.0; },
       "breaker.open_duration_jitter = 1: must be in [0, 1)"},
      {[](auto& t) { t.breaker.open_duration_jitter = kNaN; },
       "breaker.open_duration_jitter = nan: must be in [0, 1)"},
      {[](auto& t) { t.breaker.early_probe_after_rejections = -1; },
       "breaker.early_probe_after_rejections = -1: must be >= 0"},
      {[](auto& t) { t.breaker.half_open_calls = 0; },
       "breaker.half_open_calls = 0: must be in [1, 10000]"},
      {[](auto& t) { t.breaker.half_open_max_in_flight = 0; },
       "breaker.half_open_max_in_flight = 0: must be in [1, "
       "breaker.half_open_calls (2)]"},
      {[](auto& t) { t.breaker.half_open_max_in_flight = 3; },
       "breaker.half_open_max_in_flight = 3: must be in [1, "
       "breaker.half_open_calls (2)]"},
      {[](auto& t) { t.breaker.half_open_max_wait = seconds(0); },
       "breaker.half_open_max_wait = 0 s: must be > 0"},
      {[](auto& t) { t.breaker.min_deadline_for_failure = seconds(-1); },
       "breaker.min_deadline_for_failure = -1 s: must be >= 0"},
      {[](auto& t) { t.throttle.max_tokens = 0; },
       "throttle.max_tokens = 0: must be in [1, 1000]"},
      {[](auto& t) { t.throttle.max_tokens = 1001; },
       "throttle.max_tokens = 1001: must be in [1, 1000]"},
      {[](auto& t) { t.throttle.token_ratio = 0; },
       "throttle.token_ratio = 0: must be in [0.001, 1000]"},
      {[](auto& t) { t.throttle.token_ratio = kNaN; },
       "throttle.token_ratio = nan: must be in [0.001, 1000]"},
  };
  for (const TargetCase& c : cases) {
    EXPECT_EQ(FaultsOfTarget(c.change), "target \"t:1\": " + c.fault);
  }
}

// D18
TEST(ConfigValidationTest, AnEmptyWindowIsAFaultOfItsOwn) {
  EXPECT_EQ(FaultsOfTarget([](TargetConfig& t) { t.breaker.window_calls = 0; }),
            "target \"t:1\": breaker.window_calls = 0: must be in [1, 100000]\n"
            "target \"t:1\": breaker.minimum_calls = 10: must be in [1, "
            "breaker.window_calls (0)]");
}

TEST(ConfigValidationTest, TheEndsOfEveryRangeAreAllowed) {
  EXPECT_EQ(FaultsOfConfig([](Config& config) {
              config.max_breakers = 1;
              RetryPolicy& retry = config.DefaultMethod().retry;
              retry.max_attempts = std::numeric_limits<int>::max();
              retry.backoff.initial_backoff = Duration(1);
              retry.backoff.max_backoff = Duration(1);
              retry.backoff.backoff_multiplier = 1000;
              retry.backoff.jitter_ratio = 10;
              retry.min_attempt_time = Duration::zero();
              retry.per_attempt_timeout = Duration::max();
              TargetConfig& target = config.Target("t:1");
              target.breaker.failure_rate_threshold = 1;
              target.breaker.window_calls = 1;
              target.breaker.minimum_calls = 1;
              target.breaker.open_duration = Duration(1);
              target.breaker.max_open_duration = Duration(1);
              target.breaker.open_duration_jitter = 0;
              target.breaker.early_probe_after_rejections = 0;
              target.breaker.half_open_calls = 1;
              target.breaker.half_open_max_in_flight = 1;
              target.breaker.min_deadline_for_failure = Duration::zero();
              target.throttle.max_tokens = 1000;
              target.throttle.token_ratio = 0.001;
            }),
            "");
}

// --- Places
// ----------------------------------------------------------------------

TEST(ConfigValidationTest, ListsEveryFaultWithItsPlace) {
  EXPECT_EQ(FaultsOfConfig([](Config& config) {
              config.max_breakers = 0;
              config.DefaultMethod().retry.max_attempts = 0;
              config.Method("/a.B/*").retry.max_attempts = -1;
              config.DefaultTarget().throttle.max_tokens = 0;
              config.DefaultTarget().Method("/a.B/C").timeout = seconds(-1);
              config.Target("");
              TargetConfig& target = config.Target("a\n\"b\"");
              target.breaker.half_open_calls = 0;
              target.DefaultMethod().retry.max_attempts = 0;
              target.Method("x").retry.reserve = seconds(-1);
            }),
            R"(config: max_breakers = 0: must be in [1, 10000000]
default method: retry.max_attempts = 0: must be >= 1
method "/a.B/*": retry.max_attempts = -1: must be >= 1
default target: throttle.max_tokens = 0: must be in [1, 1000]
default target method "/a.B/C": timeout = -1 s: must be > 0
target "": the name is empty
target "a\n\"b\"": breaker.half_open_calls = 0: must be in [1, 10000]
target "a\n\"b\"" default method: retry.max_attempts = 0: must be >= 1
target "a\n\"b\"" method "x": must look like "/pkg.Service/Method" or "/pkg.Service/*"
target "a\n\"b\"" method "x": retry.reserve = -1 s: must be >= 0)");
}

TEST(ConfigValidationTest, BackgroundProbe) {
  Config config;
  RecoveryPolicy& recovery = config.Target("t").breaker.recovery;
  recovery.background_probe = BackgroundProbe();
  EXPECT_TRUE(config.Validate().ok());
  recovery.background_probe->method = "/pkg.Service/*";
  recovery.background_probe->timeout = Duration(0);
  recovery.watch_channel = false;
  const std::string faults(config.Validate().message());
  EXPECT_THAT(faults,
              testing::HasSubstr("breaker.recovery.background_probe.method = "
                                 "\"/pkg.Service/*\": must be of the form"));
  EXPECT_THAT(faults,
              testing::HasSubstr("breaker.recovery.background_probe.timeout = "
                                 "0 s: must be > 0"));
  EXPECT_THAT(faults, testing::HasSubstr("watch_channel is false"));
}

}  // namespace
}  // namespace grpc_resilience::internal

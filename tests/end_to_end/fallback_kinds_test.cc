// The kinds of fallback on real calls, in every style.

#include <atomic>

#include "grpc_resilience/function_fallback.h"
#include "grpc_resilience/other_target.h"
#include "grpc_resilience/stale_cache.h"
#include "grpc_resilience/static_response.h"
#include "grpc_resilience/testing/recording_observer.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

EchoResponse ResponseOf(const std::string& item) {
  EchoResponse response;
  response.add_items(item);
  return response;
}

/// Opens after one failure, for long.
Config TrippingConfig() {
  Config config = RetryConfig();
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::minutes(1);
  return config;
}

class FallbackKindsTest : public StyleTest {
 protected:
  void TearDown() override { backend().SetGlobalFault(GlobalFault::NONE); }
};

// The last good response, whatever the style in which it came.
TEST_P(FallbackKindsTest, StaleCache) {
  const auto cache = std::make_shared<StaleCache>();
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {cache};
  const auto channel = NewChannel(std::move(config));
  const EchoRequest request = NewRequest();
  EchoResponse fresh;
  // Another style puts it there.
  const CallStyle filler =
      style() == CallStyle::kSync ? CallStyle::kGenericCq : CallStyle::kSync;
  grpc::ClientContext context;
  ASSERT_TRUE(test::Call(filler, channel, EchoMethod::kIdempotent, &context,
                         request, &fresh)
                  .status.ok());
  backend().SetGlobalFault(GlobalFault::FAIL);
  EchoResponse stale;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &stale);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(stale.SerializeAsString(), fresh.SerializeAsString());
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
              ElementsAre(StartsWith("stale_cache; age=")));
  // No failure is kept, and another request has none.
  EXPECT_EQ(
      Call(channel, EchoMethod::kIdempotent, NewRequest()).status.error_code(),
      StatusCode::UNAVAILABLE);
  EXPECT_EQ(cache->stats().values, 1u);
}

TEST_P(FallbackKindsTest, StaticResponse) {
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {StaticResponse(ResponseOf("flat rate"))};
  EchoResponse response;
  const CallResult result =
      Call(NewChannel(std::move(config)), EchoMethod::kIdempotent,
           FailingRequest(-1), &response);
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(response.items(), ElementsAre("flat rate"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
              ElementsAre("static_response"));
}

// I02.
TEST_P(FallbackKindsTest, Function) {
  Config config = RetryConfig();
  for (const auto thread : {FallbackThread::kOwn, FallbackThread::kInline}) {
    FunctionOptions options;
    options.thread = thread;
    config.DefaultMethod().fallbacks = {Fallback<EchoRequest, EchoResponse>(
        [](const EchoRequest& request,
           const FailedCall& call) -> FallbackResult<EchoResponse> {
          return ResponseOf(request.payload(0) + ": " + call.message);
        },
        options)};
    const EchoRequest request = FailingRequest(-1);
    EchoResponse response;
    const CallResult result =
        Call(NewChannel(config), EchoMethod::kIdempotent, request, &response);
    EXPECT_TRUE(result.status.ok());
    EXPECT_THAT(response.items(),
                ElementsAre(request.payload(0) + ": hit 3 failed"));
  }
}

// A second target with a breaker of its own answers.
TEST_P(FallbackKindsTest, OtherTarget) {
  const auto other = std::make_shared<OtherTarget>();
  Config config = TrippingConfig();
  config.DefaultMethod().retry.idempotency_key_header = "request-id";
  config.DefaultMethod().fallbacks = {other};
  const auto resilience = MakeResilience(std::move(config));
  const auto down = CreateChannel(resilience, "127.0.0.1:1",
                                  grpc::InsecureChannelCredentials());
  const auto up = NewChannel(resilience);
  other->UseChannel(up);
  for (int i = 0; i < 2; ++i) {  // the second finds the breaker open
    const EchoRequest request = NewRequest();
    grpc::ClientContext context;
    context.AddMetadata("request-id", "key");
    EchoResponse response;
    const CallResult result =
        Call(down, EchoMethod::kIdempotent, &context, request, &response);
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
    EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
                ElementsAre("other_target"));
    EXPECT_THAT(Seen(response.observed(), "request-id"), ElementsAre("key"));
    EXPECT_THAT(Seen(response.observed(), kWithoutFallbacksKey), IsEmpty());
  }
  EXPECT_EQ(resilience->FindBreaker("127.0.0.1:1")->state, State::kOpen);
  EXPECT_EQ(resilience->FindBreaker(backend().target())->state, State::kClosed);
}

// When that fails too, the caller has the status of the first.
TEST_P(FallbackKindsTest, OtherTargetFails) {
  const auto other = std::make_shared<OtherTarget>();
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {other};
  const auto resilience = MakeResilience(std::move(config));
  const auto first = NewChannel(resilience);
  const auto second = CreateChannel(resilience, "127.0.0.1:1",
                                    grpc::InsecureChannelCredentials());
  other->UseChannel(second);
  const CallResult result =
      Call(first, EchoMethod::kIdempotent, FailingRequest(-1));
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-declined"),
              ElementsAre("other_target: UNAVAILABLE"));
}

INSTANTIATE_TEST_SUITE_P(, FallbackKindsTest, AllCallStyles(), CallStyleName);

class RevalidationTest : public EndToEndTest {
 protected:
  void TearDown() override { backend().SetGlobalFault(GlobalFault::NONE); }
};

// A value that was handed out is replaced soon after the target is back, without a
// call of the application's; while the breaker is open nothing is sent.
TEST_F(RevalidationTest, StaleValuesAreReplaced) {
  StaleCacheOptions options;
  options.revalidation_interval = milliseconds(30);
  const auto cache = std::make_shared<StaleCache>(options);
  Config config = TrippingConfig();
  config.DefaultTarget().breaker.open_duration = milliseconds(300);
  config.DefaultMethod().fallbacks = {cache};
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  cache->RevalidateThrough(backend().target(), channel);
  const EchoRequest request = NewRequest();
  const auto call = [&](EchoResponse* response) {
    grpc::ClientContext context;
    return Call(CallStyle::kSync, channel, EchoMethod::kIdempotent, &context,
                request, response);
  };
  EchoResponse fresh;
  ASSERT_TRUE(call(&fresh).status.ok());
  ASSERT_EQ(fresh.hit(), 1);

  backend().SetGlobalFault(GlobalFault::FAIL);
  EchoResponse stale;
  ASSERT_THAT(call(&stale).Trailing("grpc-resilience-fallback"), SizeIs(1));
  EXPECT_EQ(stale.hit(), 1);
  backend().SetGlobalFault(GlobalFault::NONE);
  WaitUntil([&] { return cache->stats().revalidations == 1; },
            "the value is replaced");
  const int hits = Hits(request).count();
  // Rejected attempts don't arrive: about one for each time the breaker let one by.
  EXPECT_LE(hits, 10);

  backend().SetGlobalFault(GlobalFault::FAIL);
  EchoResponse replaced;
  ASSERT_THAT(call(&replaced).Trailing("grpc-resilience-fallback"), SizeIs(1));
  EXPECT_GT(replaced.hit(), 1);
}

// Nothing is asked for again when nothing was handed out, and nothing once the cache
// has gone.
TEST_F(RevalidationTest, NothingRunsWhenNotNeeded) {
  const EchoRequest request = NewRequest();
  {
    StaleCacheOptions options;
    options.revalidation_interval = milliseconds(1);
    const auto cache = std::make_shared<StaleCache>(options);
    Config config = RetryConfig();
    config.DefaultMethod().fallbacks = {cache};
    const auto channel = NewChannel(std::move(config));
    cache->RevalidateThrough(backend().target(), channel);
    for (int i = 0; i < 20; ++i) {
      grpc::ClientContext context;
      EchoResponse response;
      Call(CallStyle::kSync, channel, EchoMethod::kIdempotent, &context,
           request, &response);
    }
    EXPECT_EQ(Hits(request).count(), 20);
    EXPECT_EQ(cache->stats().revalidations, 0u);
  }
  EXPECT_EQ(Hits(request).count(), 20);
}

}  // namespace
}  // namespace grpc_resilience::test

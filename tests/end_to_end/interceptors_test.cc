// Other interceptors on the same channel.

#include "support/counting_interceptor.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;

class InterceptorsTest : public WayTest {
 protected:
  std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> Ours()
      const {
    return CreateInterceptorFactory(MakeResilience(RetryConfig()),
                                    backend().target());
  }
  void ExpectThreeHitsThenOk(InterceptorFactories factories) {
    const EchoRequest request = FailingRequest(2);
    EchoResponse response;
    const CallResult result = Call(NewChannelOf(std::move(factories)),
                                   EchoMethod::kIdempotent, request, &response);
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_EQ(response.hit(), 3);
    EXPECT_EQ(Hits(request).count(), 3);
  }
};

// A11. Interceptors before ours see of a call what they see without us, and every
// batch ends, however many the style has.
TEST_P(InterceptorsTest, ThoseBeforeUsSeeWhatTheySeeWithoutUs) {
  const auto trace = [&](bool with_ours, int failures) {
    auto log = std::make_shared<InterceptorLog>();
    InterceptorFactories factories;
    factories.push_back(std::make_unique<LoggingFactory>(log));
    if (with_ours) factories.push_back(Ours());
    Call(NewChannelOf(std::move(factories)), EchoMethod::kIdempotent,
         FailingRequest(failures));
    std::vector<int> counts;
    for (const HookPoint hook :
         {HookPoint::PRE_SEND_INITIAL_METADATA, HookPoint::PRE_SEND_MESSAGE,
          HookPoint::PRE_SEND_CLOSE, HookPoint::POST_RECV_INITIAL_METADATA,
          HookPoint::POST_RECV_MESSAGE, HookPoint::POST_RECV_STATUS}) {
      counts.push_back(log->Count(hook));
    }
    return counts;
  };
  const std::vector<int> plain = trace(false, 0);
  EXPECT_EQ(trace(true, 0), plain);
  EXPECT_EQ(trace(true, 2), plain);
}

TEST_P(InterceptorsTest, NullFactoryBeforeOurs) {
  InterceptorFactories factories;
  factories.push_back(std::make_unique<NullFactory>());
  factories.push_back(Ours());
  factories.push_back(std::make_unique<NullFactory>());
  ExpectThreeHitsThenOk(std::move(factories));
}

TEST_P(InterceptorsTest, TwoOfOursAreOne) {
  InterceptorFactories factories;
  factories.push_back(Ours());
  factories.push_back(Ours());
  ExpectThreeHitsThenOk(std::move(factories));
}

TEST_P(InterceptorsTest, TwoOfOursApart) {
  InterceptorFactories factories;
  factories.push_back(std::make_unique<NullFactory>());
  factories.push_back(Ours());
  factories.push_back(std::make_unique<AddMetadataFactory>("k", "v"));
  factories.push_back(Ours());
  ExpectThreeHitsThenOk(std::move(factories));
}

// What a hijacker after ours answers is an attempt's result.
TEST_P(InterceptorsTest, HijackerAfterOurs) {
  InterceptorFactories factories;
  factories.push_back(Ours());
  factories.push_back(std::make_unique<FailingHijackerFactory>(2));
  const EchoRequest request = NewRequest();
  EchoResponse response;
  const CallResult result = Call(NewChannelOf(std::move(factories)),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_EQ(Hits(request).count(), 1);
}

TEST_P(InterceptorsTest, HijackerAfterOursFailsEveryAttempt) {
  InterceptorFactories factories;
  factories.push_back(Ours());
  factories.push_back(std::make_unique<FailingHijackerFactory>(-1));
  const EchoRequest request = NewRequest();
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(NewChannelOf(std::move(factories)),
                                 EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hijacked");
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_EQ(Hits(request).count(), 0);
}

// A hijacker before ours answers instead of us.
TEST_P(InterceptorsTest, HijackerBeforeOurs) {
  InterceptorFactories factories;
  factories.push_back(std::make_unique<FailingHijackerFactory>(-1));
  factories.push_back(Ours());
  const EchoRequest request = NewRequest();
  const CallResult result = Call(NewChannelOf(std::move(factories)),
                                 EchoMethod::kIdempotent, request);
  EXPECT_EQ(result.status.error_message(), "hijacked");
  EXPECT_EQ(Hits(request).count(), 0);
}

// A hijacker before ours that makes a call of its own: that call is protected.
class ReissuingHijackerTest : public InterceptorsTest {};

TEST_P(ReissuingHijackerTest, BeforeOurs) {
  InterceptorFactories factories;
  factories.push_back(std::make_unique<ReissuingHijackerFactory>());
  factories.push_back(Ours());
  ExpectThreeHitsThenOk(std::move(factories));
}

INSTANTIATE_TEST_SUITE_P(, InterceptorsTest, AllWays(), WayName);
// That hijacker knows these two styles only.
INSTANTIATE_TEST_SUITE_P(
    , ReissuingHijackerTest,
    testing::Combine(testing::Values(CallStyle::kSync, CallStyle::kCallback),
                     testing::Values(Way::kWatched, Way::kLimited,
                                     Way::kHijacked)),
    WayName);

}  // namespace
}  // namespace grpc_resilience::test

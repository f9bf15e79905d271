// Fallbacks and time, calls that do without, and calls that don't need any, in every
// style of call.

#include "grpc_resilience/fallback.h"
#include "support/end_to_end_test.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

class FallbackLimitsTest : public StyleTest {};

// A call that says so does without, and the wire doesn't hear of it.
TEST_P(FallbackLimitsTest, WithoutFallbacks) {
  const auto source = ScriptedFallback::Answering("fallback");
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {source};
  const auto channel = NewChannel(std::move(config));
  const EchoRequest request = FailingRequest(-1);
  grpc::ClientContext context;
  context.AddMetadata(kWithoutFallbacksKey, "1");
  EchoResponse response;
  EXPECT_EQ(Call(channel, EchoMethod::kIdempotent, &context, request, &response)
                .status.error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(source->asked(), 0);
  ASSERT_THAT(Hits(request).hits(), SizeIs(3));
  EXPECT_THAT(Seen(Hits(request).hits(0), kWithoutFallbacksKey), IsEmpty());
}

// With a reserve one that takes time can, before the deadline.
TEST_P(FallbackLimitsTest, DeadlineWithReserve) {
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {
      ScriptedFallback::AnsweringAfter(milliseconds(20), "fallback")};
  config.DefaultMethod().fallback_rules.reserve = milliseconds(200);
  const auto channel = NewChannel(std::move(config));
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(400));
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, &context, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(Milliseconds(result.elapsed),
              AllOf(Ge(195), Lt(400 * TimeFactor())));
}

// A slow one costs no more than what is left of the deadline.
TEST_P(FallbackLimitsTest, SlowOneEndsWithTheDeadline) {
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {ScriptedFallback::Silent()};
  config.DefaultMethod().fallback_rules.timeout = std::chrono::minutes(1);
  const auto channel = NewChannel(std::move(config));
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(200));
  EchoResponse response;
  const CallResult result = Call(channel, EchoMethod::kIdempotent, &context,
                                 FailingRequest(-1), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(Milliseconds(result.elapsed),
              AllOf(Ge(150), Lt(300 * TimeFactor())));
}

// I03. A call that succeeds at once stays the caller's own, where the style asks for
// its result in one batch: it keeps its peer.
TEST_P(FallbackLimitsTest, StaysTheCallersOwnCall) {
  Config config = RetryConfig();
  config.DefaultMethod().fallbacks = {ScriptedFallback::Keeping("tenant")};
  const auto with = NewChannel(std::move(config));
  const auto without = NewChannel(RetryConfig());
  EXPECT_EQ(Call(with, EchoMethod::kIdempotent, NewRequest()).peer,
            Call(without, EchoMethod::kIdempotent, NewRequest()).peer);
}

// A source that keeps its reply for ever goes with the channel all the same.
TEST_P(FallbackLimitsTest, AKeptReplyKeepsNothing) {
  std::weak_ptr<ScriptedFallback> source;
  {
    const auto silent = ScriptedFallback::Silent();
    source = silent;
    Config config = RetryConfig();
    config.DefaultMethod().fallbacks = {silent};
    config.DefaultMethod().fallback_rules.timeout = milliseconds(20);
    const CallResult result = Call(NewChannel(std::move(config)),
                                   EchoMethod::kIdempotent, FailingRequest(-1));
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  }
  WaitUntil([&] { return source.expired(); }, "the source has gone");
}

INSTANTIATE_TEST_SUITE_P(, FallbackLimitsTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

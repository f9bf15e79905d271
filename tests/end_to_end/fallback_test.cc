// When fallbacks are asked and what the caller sees of them, in every style of call
// and all ways through the library.

#include "grpc_resilience/fallback.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "grpc_resilience/testing/recording_observer.h"
#include "support/counting_interceptor.h"
#include "support/end_to_end_test.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FallbackTest : public WayTest {
 protected:
  Config WithFallbacks(std::vector<std::shared_ptr<FallbackSource>> sources) {
    Config config = RetryConfig();
    config.DefaultMethod().fallbacks = std::move(sources);
    return config;
  }
  std::shared_ptr<grpc::Channel> NewObservedChannel(Config config) {
    const auto resilience = MakeResilience(std::move(config));
    resilience->AddObserver(observer_);
    return NewChannel(resilience);
  }

  const std::shared_ptr<RecordingObserver> observer_ =
      std::make_shared<RecordingObserver>();
};

// I03, A03. A fallback that isn't needed changes nothing.
TEST_P(FallbackTest, NotNeeded) {
  const auto source = ScriptedFallback::Answering("fallback");
  const auto channel = NewObservedChannel(WithFallbacks({source}));
  for (const int failures : {0, 2}) {
    EchoRequest request = FailingRequest(failures);
    request.mutable_script()->set_number_metadata(true);
    EchoResponse response;
    response.add_items("old");
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, request, &response);
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_TRUE(result.tag_ok);
    EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
    EXPECT_THAT(result.Initial("y"), ElementsAre(std::to_string(failures + 1)));
    EXPECT_THAT(result.Trailing("grpc-resilience-fallback"), IsEmpty());
    EXPECT_EQ(Hits(request).count(), failures + 1);
  }
  EXPECT_EQ(source->asked(), 0);
  EXPECT_THAT(observer_->fallbacks(), IsEmpty());
}

// A hedged call that came to nothing is one as well.
TEST_P(FallbackTest, AllHedgesFail) {
  const auto source = ScriptedFallback::Answering("fallback");
  Config config = WithFallbacks({source});
  config.DefaultMethod().hedging.emplace().hedging_delay = seconds(20);
  const auto channel = NewObservedChannel(std::move(config));
  EchoResponse response;
  const EchoRequest request = FailingRequest(-1);
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-status"),
              ElementsAre("UNAVAILABLE: hit 2 failed"));
  EXPECT_EQ(source->last().attempts, 2);
  EXPECT_EQ(Hits(request).count(), 2);
}

// I02, A03. Retries exhausted: the answer, its mark, and the status behind it.
TEST_P(FallbackTest, RetriesExhausted) {
  const auto source = ScriptedFallback::Answering("fallback", "age=12s");
  const auto channel = NewObservedChannel(WithFallbacks({source}));
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_number_metadata(true);
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::OK);
  EXPECT_EQ(result.status.error_message(), "");
  EXPECT_EQ(result.status.error_details(), "");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
              ElementsAre("scripted; age=12s"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-status"),
              ElementsAre("UNAVAILABLE: hit 3 failed"));
  EXPECT_THAT(result.Trailing("grpc-resilience-attempts"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("RETRIES_EXHAUSTED"));
  // Nothing of the attempts that failed is left.
  EXPECT_THAT(result.Initial("y"), IsEmpty());
  EXPECT_THAT(result.Trailing("x"), IsEmpty());
  EXPECT_EQ(Hits(request).count(), 3);

  ASSERT_EQ(source->asked(), 1);
  const FailedCall call = source->last();
  EXPECT_EQ(call.target, backend().target());
  EXPECT_EQ(call.method, MethodName(EchoMethod::kIdempotent));
  EXPECT_EQ(call.request, request.SerializeAsString());
  EXPECT_EQ(call.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.message, "hit 3 failed");
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(call.attempts, 3);

  ASSERT_THAT(observer_->fallbacks(), SizeIs(1));
  const RecordedFallback event = observer_->fallbacks()[0];
  EXPECT_EQ(event.kind, "scripted");
  EXPECT_EQ(event.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(event.reason, StopReason::kRetriesExhausted);
  EXPECT_TRUE(event.answered);
  ASSERT_THAT(observer_->calls(), SizeIs(1));
  EXPECT_EQ(observer_->calls()[0].fallback, "scripted");
  EXPECT_EQ(observer_->calls()[0].code, StatusCode::UNAVAILABLE);
}

// A03, I02. Breaker open: nothing is sent; the failure that opened it counted as
// one, though a fallback answered it.
TEST_P(FallbackTest, BreakerOpen) {
  const auto source = ScriptedFallback::Answering("fallback");
  Config config = WithFallbacks({source});
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::minutes(1);
  const auto channel = NewObservedChannel(std::move(config));
  EXPECT_TRUE(
      Call(channel, EchoMethod::kUnary, FailingRequest(-1)).status.ok());

  const EchoRequest request = NewRequest();
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("BREAKER_OPEN"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-status"),
              ElementsAre(HasSubstr("is open")));
  EXPECT_LT(Milliseconds(result.elapsed), 100 * TimeFactor());
  EXPECT_EQ(Hits(request).count(), 0);
  EXPECT_EQ(source->last().attempts, 0);
  EXPECT_EQ(source->last().request, request.SerializeAsString());
}

// The overall deadline: a source that answers at once can, also without reserve.
TEST_P(FallbackTest, Deadline) {
  const auto channel =
      NewChannel(WithFallbacks({ScriptedFallback::Answering("fallback")}));
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(150));
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, &context, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-status"),
              ElementsAre(HasSubstr("DEADLINE_EXCEEDED")));
  EXPECT_LT(Milliseconds(result.elapsed), 250 * TimeFactor());
}

// I01. The caller's own errors pass through, and so does what isn't retried.
TEST_P(FallbackTest, NotForTheCallersOwnErrors) {
  const auto source = ScriptedFallback::Answering("fallback");
  const auto channel = NewChannel(WithFallbacks({source}));
  for (const StatusCode code : {StatusCode::INVALID_ARGUMENT,
                                StatusCode::NOT_FOUND, StatusCode::INTERNAL}) {
    const EchoRequest request = FailingRequest(-1, code);
    EchoResponse response;
    response.add_items("old");
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, request, &response);
    EXPECT_EQ(result.status.error_code(), code);
    EXPECT_EQ(result.status.error_message(), "hit 1 failed");
    EXPECT_THAT(response.items(), ElementsAre("old"));
    EXPECT_THAT(result.Trailing("grpc-resilience-fallback"), IsEmpty());
  }
  EXPECT_EQ(source->asked(), 0);
}

// I01. Never for a call that its caller gave up.
TEST_P(FallbackTest, NotForACancelledCall) {
  const auto source = ScriptedFallback::Answering("fallback");
  const auto channel = NewChannel(WithFallbacks({source}));
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(-1);
  grpc::ClientContext context;
  Prepare(&context);
  EchoResponse response;
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the call arrived");
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(source->asked(), 0);
}

// A method that isn't known to be idempotent is not retried, but answered.
TEST_P(FallbackTest, NotIdempotent) {
  const auto channel =
      NewChannel(WithFallbacks({ScriptedFallback::Answering("fallback")}));
  const EchoRequest request = FailingRequest(-1);
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kUnary, request, &response);
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(response.items(), ElementsAre("fallback"));
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("NOT_IDEMPOTENT"));
  EXPECT_EQ(Hits(request).count(), 1);
}

// One that declines, throws, has the wrong type, or is slow: the next one is asked.
TEST_P(FallbackTest, TheNextOneAnswers) {
  Config config = WithFallbacks(
      {ScriptedFallback::Declining("nothing stored"),
       ScriptedFallback::Throwing(), ScriptedFallback::WithType("other.Type"),
       ScriptedFallback::WithBytes("\xff\xff"), ScriptedFallback::Dropping(),
       ScriptedFallback::Silent(),
       ScriptedFallback::AnsweringAfter(milliseconds(5), "late is fine"),
       ScriptedFallback::Answering("never asked")});
  config.DefaultMethod().fallback_rules.timeout = milliseconds(60);
  const auto channel = NewObservedChannel(std::move(config));
  EchoResponse response;
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, FailingRequest(-1), &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("late is fine"));
  EXPECT_THAT(
      result.Trailing("grpc-resilience-fallback-declined"),
      ElementsAre(
          "scripted: nothing stored; scripted: threw an exception; scripted: "
          "answered with other.Type where the method has "
          "grpc_resilience.test.EchoResponse; scripted: answered with bytes "
          "that are no grpc_resilience.test.EchoResponse; scripted: took too "
          "long"));
  EXPECT_THAT(observer_->fallbacks(), SizeIs(7));
}

// All of them fail: the original status, in time.
TEST_P(FallbackTest, NoneAnswers) {
  Config config = WithFallbacks(
      {ScriptedFallback::Declining(""), ScriptedFallback::Throwing(),
       ScriptedFallback::WithType("other.Type"), ScriptedFallback::Silent()});
  config.DefaultMethod().fallback_rules.timeout = milliseconds(50);
  const auto channel = NewObservedChannel(std::move(config));
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_details("d#");
  request.mutable_script()->set_number_metadata(true);
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 3 failed");
  EXPECT_EQ(result.status.error_details(), "d3");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("x"), ElementsAre("3"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"), IsEmpty());
  EXPECT_THAT(result.Trailing("grpc-resilience-reason"),
              ElementsAre("RETRIES_EXHAUSTED"));
  EXPECT_LT(Milliseconds(result.elapsed), 300 * TimeFactor());
  ASSERT_THAT(observer_->calls(), SizeIs(1));
  EXPECT_EQ(observer_->calls()[0].fallback, "");
}

// The caller may give up while a slow one is waited for.
TEST_P(FallbackTest, CancelledWhileAskedFor) {
  const auto source = ScriptedFallback::Silent();
  Config config = WithFallbacks({source});
  config.DefaultMethod().fallback_rules.timeout = std::chrono::minutes(1);
  const auto channel = NewChannel(std::move(config));
  const EchoRequest request = FailingRequest(-1);
  grpc::ClientContext context;
  Prepare(&context);
  EchoResponse response;
  RunningCall call = Start(style(), channel, EchoMethod::kIdempotent, &context,
                           request, &response);
  WaitUntil([&] { return source->asked() == 1; }, "the source was asked");
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
  EXPECT_FALSE(source->AnswerLate());
}

// It may answer with a status of its own.
TEST_P(FallbackTest, AnswersWithAStatus) {
  const auto channel = NewChannel(WithFallbacks({ScriptedFallback::WithStatus(
      StatusCode::FAILED_PRECONDITION, "come back tomorrow")}));
  EchoResponse response;
  response.add_items("old");
  const CallResult result =
      Call(channel, EchoMethod::kIdempotent, FailingRequest(-1), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(result.status.error_message(), "come back tomorrow");
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
              ElementsAre("scripted"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-status"),
              ElementsAre("UNAVAILABLE: hit 3 failed"));
}

// Good responses are shown to those who keep them, with the metadata they asked for.
TEST_P(FallbackTest, GoodResponsesAreKept) {
  const auto source = ScriptedFallback::Keeping("tenant");
  Config config = WithFallbacks({source});
  config.DefaultMethod().retry.idempotency_key_header = "request-id";
  const auto channel = NewChannel(std::move(config));
  for (const int failures : {0, 1, 3}) {
    const EchoRequest request = FailingRequest(failures);
    grpc::ClientContext context;
    context.AddMetadata("tenant", "blue");
    context.AddMetadata("authorization", "secret");
    context.AddMetadata("request-id", "key 1");
    EchoResponse response;
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, &context, request, &response);
    if (failures == 3) continue;
    ASSERT_EQ(source->kept(), failures + 1);
    EXPECT_EQ(source->last_kept().request, request.SerializeAsString());
    EXPECT_THAT(source->last_kept().metadata,
                ElementsAre(testing::Pair("tenant", "blue")));
    EXPECT_EQ(source->last_kept().idempotency_key, "key 1");
    EchoResponse kept;
    ASSERT_TRUE(kept.ParseFromString(source->last_response()));
    EXPECT_EQ(kept.SerializeAsString(), response.SerializeAsString());
  }
  EXPECT_EQ(source->kept(), 2);
  EXPECT_THAT(source->last().metadata,
              ElementsAre(testing::Pair("tenant", "blue")));
  EXPECT_EQ(source->last().idempotency_key_header, "request-id");
}

// The caller may delete everything as early as its style allows, whoever answers.
TEST_P(FallbackTest, CallerDeletesEverythingAtTheEnd) {
  for (const auto& source :
       {ScriptedFallback::Answering("fallback"),
        ScriptedFallback::AnsweringAfter(milliseconds(5), "fallback")}) {
    const auto channel = NewChannel(WithFallbacks({source}));
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(StartSelfDeleting(style(), channel, EchoMethod::kIdempotent,
                                    {}, FailingRequest(-1))
                      .Wait()
                      .status.ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FallbackTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

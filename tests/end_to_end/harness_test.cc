// The harness itself, on plain channels: a test that fails here is no fault of
// the library.

#include "support/counting_interceptor.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;

class HarnessTest : public StyleTest {};

TEST_P(HarnessTest, AnswersInEveryStyle) {
  EchoRequest request = NewRequest();
  EchoResponse response;
  const CallResult result =
      Call(PlainChannel(), EchoMethod::kUnary, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.tag_ok);
  EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
  EXPECT_EQ(response.hit(), 1);
  EXPECT_EQ(response.observed().authority(), backend().target());
  EXPECT_EQ(response.observed().encoding(), "identity");
  EXPECT_EQ(response.observed().method(), "/grpc_resilience.test.Echo/Unary");
  EXPECT_FALSE(response.observed().has_time_left_ms());
}

TEST_P(HarnessTest, FailureHasStatusDetailsAndMetadata) {
  EchoRequest request = FailingRequest(2);
  request.mutable_script()->set_details(std::string("d#\0e", 4));
  request.mutable_script()->set_number_metadata(true);
  const auto channel = PlainChannel();
  for (int hit = 1; hit <= 3; ++hit) {
    EchoResponse response;
    response.add_items("old");
    const CallResult result =
        Call(channel, EchoMethod::kIdempotent, request, &response);
    EXPECT_THAT(result.Initial("y"), ElementsAre(std::to_string(hit)));
    EXPECT_THAT(result.Trailing("x"), ElementsAre(std::to_string(hit)));
    EXPECT_TRUE(result.tag_ok);
    if (hit == 3) {
      EXPECT_TRUE(result.status.ok());
      EXPECT_THAT(response.items(), ElementsAre(request.payload(0)));
      continue;
    }
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(result.status.error_message(),
              "hit " + std::to_string(hit) + " failed");
    EXPECT_EQ(result.status.error_details(),
              "d" + std::to_string(hit) + std::string("\0e", 2));
    EXPECT_THAT(response.items(), ElementsAre("old"));
  }
  EXPECT_EQ(Hits(request).count(), 3);
}

TEST_P(HarnessTest, HangEndsWithTheDeadline) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  request.mutable_script()->set_send_headers_first(true);
  request.mutable_script()->set_number_metadata(true);
  grpc::ClientContext context;
  SetDeadline(&context, milliseconds(100));
  EchoResponse response;
  const CallResult result =
      Call(PlainChannel(), EchoMethod::kReadOnly, &context, request, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(Milliseconds(result.elapsed), 95);
  EXPECT_THAT(result.Initial("y"), ElementsAre("1"));
  WaitUntil([&] { return Hits(request).hits(0).cancelled(); },
            "the server sees the cancellation");
  EXPECT_NEAR(Hits(request).hits(0).time_left_ms(), 90, 30);
}

TEST_P(HarnessTest, StartedCallCanBeCancelled) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_hang_times(1);
  grpc::ClientContext context;
  EchoResponse response;
  const auto channel = PlainChannel();
  RunningCall call = Start(GetParam(), channel, EchoMethod::kUnary, &context,
                           request, &response);
  WaitUntil([&] { return Hits(request).count() == 1; }, "the hit");
  EXPECT_FALSE(call.done());
  context.TryCancel();
  EXPECT_EQ(call.Wait().status.error_code(), StatusCode::CANCELLED);
}

TEST_P(HarnessTest, SelfDeletingCallDeletesEverything) {
  EchoRequest request = NewRequest();
  request.mutable_script()->set_delay_ms(5);
  const auto channel = PlainChannel();
  RunningCall call = StartSelfDeleting(
      GetParam(), channel, EchoMethod::kUnary,
      [](grpc::ClientContext* context) {
        context->AddMetadata("b-bin", std::string("\0\1", 2));
      },
      request);
  EXPECT_TRUE(call.Wait().status.ok());
  EXPECT_THAT(Seen(Hits(request).hits(0), "b-bin"),
              ElementsAre(std::string("\0\1", 2)));
}

TEST_P(HarnessTest, InterceptorsCount) {
  auto log = std::make_shared<InterceptorLog>();
  InterceptorFactories factories;
  factories.push_back(std::make_unique<LoggingFactory>(
      log, ShowsRequestObject(GetParam())
               ? LoggingFactory::MessageView::kObject
               : LoggingFactory::MessageView::kSerialized));
  factories.push_back(std::make_unique<AddMetadataFactory>("h", "1"));
  factories.push_back(std::make_unique<NullFactory>());
  EchoRequest request = NewRequest();
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannelOf(std::move(factories)), EchoMethod::kUnary,
                   request, &response)
                  .status.ok());
  EXPECT_EQ(log->rpcs(), 1);
  EXPECT_EQ(log->alive(), 0);
  EXPECT_EQ(log->Count(HookPoint::PRE_SEND_MESSAGE), 1);
  EXPECT_EQ(log->Count(HookPoint::POST_RECV_STATUS), 1);
  EXPECT_THAT(log->messages(), ElementsAre(request.SerializeAsString()));
}

TEST_P(HarnessTest, ServerCanBeKilledFrozenAndRestarted) {
  auto own = BackendProcess::Start(BackendPath());
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  const auto channel = grpc::CreateCustomChannel(
      own->target(), grpc::InsecureChannelCredentials(), args);
  EchoResponse response;
  EXPECT_TRUE(
      Call(channel, EchoMethod::kUnary, NewRequest(), &response).status.ok());
  own->Freeze();
  {
    grpc::ClientContext context;
    SetDeadline(&context, milliseconds(100));
    EXPECT_EQ(
        Call(channel, EchoMethod::kUnary, &context, NewRequest(), &response)
            .status.error_code(),
        StatusCode::DEADLINE_EXCEEDED);
  }
  own->Unfreeze();
  EXPECT_TRUE(
      Call(channel, EchoMethod::kUnary, NewRequest(), &response).status.ok());
  own->Kill();
  EXPECT_EQ(Call(channel, EchoMethod::kUnary, NewRequest(), &response)
                .status.error_code(),
            StatusCode::UNAVAILABLE);
  own->Restart();
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  EXPECT_TRUE(
      Call(channel, EchoMethod::kUnary, &context, NewRequest(), &response)
          .status.ok());
}

TEST_P(HarnessTest, GlobalFaultOverridesScripts) {
  const auto channel = PlainChannel();
  EchoResponse response;
  backend().SetGlobalFault(GlobalFault::FAIL, StatusCode::INTERNAL);
  EXPECT_EQ(Call(channel, EchoMethod::kUnary, NewRequest(), &response)
                .status.error_code(),
            StatusCode::INTERNAL);
  backend().SetGlobalFault(GlobalFault::NONE);
  EXPECT_TRUE(
      Call(channel, EchoMethod::kUnary, NewRequest(), &response).status.ok());
}

INSTANTIATE_TEST_SUITE_P(, HarnessTest, AllCallStyles(), CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

// Static responses, functions, and other targets without a channel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "absl/synchronization/notification.h"
#include "fallback/asked.h"
#include "grpc_resilience/function_fallback.h"
#include "grpc_resilience/other_target.h"
#include "grpc_resilience/static_response.h"
#include "test_service.pb.h"

namespace grpc_resilience::test {
namespace {

using Kind = FallbackAnswer::Kind;
using Result = FallbackResult<EchoResponse>;

std::shared_ptr<FailedCall> EchoCall() {
  EchoRequest request;
  request.set_key("k");
  return MakeCall(request.SerializeAsString());
}

template <typename Function>
std::shared_ptr<FallbackSource> Inline(Function function) {
  FunctionOptions options;
  options.thread = FallbackThread::kInline;
  return Fallback<EchoRequest, EchoResponse>(function, options);
}

TEST(StaticResponseTest, AnswersWithMessageAndType) {
  EchoResponse response;
  response.add_items("flat rate");
  const auto source = StaticResponse(response);
  const FallbackAnswer answer = AnswerOf(source.get(), EchoCall());
  EXPECT_EQ(answer.kind, Kind::kResponse);
  EXPECT_EQ(answer.response, response.SerializeAsString());
  EXPECT_EQ(answer.type, "grpc_resilience.test.EchoResponse");
  EXPECT_EQ(source->kind(), "static_response");
}

// I02. It sees the request, the last status, the attempts and the reason.
TEST(FunctionFallbackTest, SeesRequestAndCall) {
  const auto source =
      Inline([](const EchoRequest& request, const FailedCall& call) -> Result {
        EchoResponse response;
        response.add_items(request.key() + ", " + call.message + ", " +
                           std::to_string(call.attempts) + ", " +
                           std::string(ToString(call.reason)));
        return response;
      });
  const FallbackAnswer answer = AnswerOf(source.get(), EchoCall());
  EchoResponse response;
  ASSERT_TRUE(response.ParseFromString(answer.response));
  EXPECT_EQ(response.items(0), "k, overloaded, 3, BREAKER_OPEN");
  EXPECT_EQ(answer.type, "grpc_resilience.test.EchoResponse");
  EXPECT_EQ(source->kind(), "function");
}

TEST(FunctionFallbackTest, MayDecline) {
  const auto source =
      Inline([](const EchoRequest&, const FailedCall&) -> Result {
        return Decline{"not today"};
      });
  const FallbackAnswer answer = AnswerOf(source.get(), EchoCall());
  EXPECT_EQ(answer.kind, Kind::kDeclined);
  EXPECT_EQ(answer.message, "not today");
}

TEST(FunctionFallbackTest, MayAnswerWithAStatus) {
  const auto source =
      Inline([](const EchoRequest&, const FailedCall&) -> Result {
        return grpc::Status(grpc::StatusCode::ABORTED, "try later", "details");
      });
  const FallbackAnswer answer = AnswerOf(source.get(), EchoCall());
  EXPECT_EQ(answer.kind, Kind::kStatus);
  EXPECT_EQ(answer.code, StatusCode::ABORTED);
  EXPECT_EQ(answer.message, "try later");
  EXPECT_EQ(answer.details, "details");
}

TEST(FunctionFallbackTest, RequestOfAnotherTypeIsDeclined) {
  const auto source =
      Inline([](const EchoRequest&, const FailedCall&) -> Result {
        return Decline();
      });
  const FallbackAnswer answer = AnswerOf(source.get(), MakeCall("\xff\xff"));
  EXPECT_EQ(answer.message,
            "the request is no grpc_resilience.test.EchoRequest");
}

TEST(FunctionFallbackTest, RunsOnAThreadOfTheLibrarysOwn) {
  std::atomic<std::thread::id> thread{};
  const auto source = Fallback<EchoRequest, EchoResponse>(
      [&thread](const EchoRequest&, const FailedCall&) -> Result {
        thread = std::this_thread::get_id();
        return EchoResponse();
      });
  const auto asked = Ask(source.get(), EchoCall());
  EXPECT_EQ(asked->Wait()->kind, Kind::kResponse);
  EXPECT_NE(thread.load(), std::this_thread::get_id());
}

TEST(FunctionFallbackTest, WhatItThrowsIsARefusal) {
  const auto source = Fallback<EchoRequest, EchoResponse>(
      [](const EchoRequest&, const FailedCall&) -> Result {
        throw std::runtime_error("no");
      });
  const auto asked = Ask(source.get(), EchoCall());
  EXPECT_EQ(asked->Wait()->message, "threw an exception");
}

// Functions that block cost their own callers, never the thread that asks; the
// source may go while they do.
TEST(FunctionFallbackTest, MayBlock) {
  absl::Notification release;
  std::atomic<int> began{0};
  std::vector<std::shared_ptr<AskedTaker>> asked;
  {
    const auto source = Fallback<EchoRequest, EchoResponse>(
        [&](const EchoRequest&, const FailedCall&) -> Result {
          ++began;
          release.WaitForNotification();
          return EchoResponse();
        });
    for (int i = 0; i < 6; ++i) asked.push_back(Ask(source.get(), EchoCall()));
  }
  asked[5]->GiveUp();
  release.Notify();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(asked[i]->Wait()->kind, Kind::kResponse);
  }
  // One that nobody waits for isn't even begun, unless it was already.
  EXPECT_FALSE(asked[5]->answer().has_value());
}

TEST(OtherTargetTest, DeclinesWithoutAChannel) {
  OtherTarget source;
  EXPECT_EQ(AnswerOf(&source, EchoCall()).message, "no channel");
  EXPECT_EQ(source.kind(), "other_target");
}

}  // namespace
}  // namespace grpc_resilience::test

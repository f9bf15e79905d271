// A12. Unary calls and streams at the same time on one channel.

#include <thread>

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using ConcurrentTest = EndToEndTest;

TEST_F(ConcurrentTest, UnaryCallsBesideServerStreams) {
  const auto channel = NewChannel(RetryConfig());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::thread> streams;
  std::atomic<int> messages{0};
  for (int i = 0; i < 8; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.emplace_back([&, context = contexts.back().get()] {
      EchoRequest request;
      request.set_key("stream");
      request.mutable_script()->set_responses(1'000'000'000);
      request.mutable_script()->set_response_interval_ms(1);
      const auto stub = Echo::NewStub(channel);
      const auto reader = stub->ServerStream(context, request);
      EchoResponse response;
      while (reader->Read(&response)) ++messages;
      EXPECT_EQ(reader->Finish().error_code(), StatusCode::CANCELLED);
    });
  }
  WaitUntil([&] { return messages >= 8; }, "the streams run");

  const int calls = TimeFactor() > 1 ? 200 : 2000;
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_by_attempt_header(true);
  std::vector<std::thread> callers;
  std::atomic<int> ok{0};
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      EchoRequest fine = request;
      fine.mutable_script()->set_fail_times(0);
      for (int n = 0; n < calls; ++n) {
        grpc::ClientContext context;
        EchoResponse response;
        // Each thread in its own style; every tenth call is retried.
        ok += Call(static_cast<CallStyle>(i), channel, EchoMethod::kIdempotent,
                   &context, n % 10 == 0 ? request : fine, &response)
                  .status.ok();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ok, 8 * calls);
  const int seen = messages;
  WaitUntil([&] { return messages > seen; }, "the streams still run");
  for (const auto& context : contexts) context->TryCancel();
  for (std::thread& stream : streams) stream.join();
}

}  // namespace
}  // namespace grpc_resilience::test

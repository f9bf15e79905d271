// Messages that are no protobuf objects of the method's class are never guessed
// at.

#include <grpcpp/generic/generic_stub.h>

#include <future>

#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {

/// A message class of another code generator.
struct Blob {
  std::string bytes;
};

}  // namespace grpc_resilience::test

namespace grpc {

template <>
class SerializationTraits<grpc_resilience::test::Blob> {
 public:
  static Status Serialize(const grpc_resilience::test::Blob& blob,
                          ByteBuffer* buffer, bool* own_buffer) {
    Slice slice(blob.bytes);
    *buffer = ByteBuffer(&slice, 1);
    *own_buffer = true;
    return Status::OK;
  }
  static Status Deserialize(ByteBuffer* buffer,
                            grpc_resilience::test::Blob* blob) {
    Slice slice;
    const Status status = buffer->DumpToSingleSlice(&slice);
    if (status.ok()) blob->bytes.assign(slice.begin(), slice.end());
    buffer->Clear();  // gRPC leaves that to its deserializers
    return status;
  }
};

}  // namespace grpc

namespace grpc_resilience::test {
namespace {

using testing::SizeIs;

enum class BlobStyle { kCallback, kReactor, kQueue };

class MessageTypeTest : public EndToEndTest,
                        public testing::WithParamInterface<BlobStyle> {
 protected:
  class Reactor : public grpc::ClientUnaryReactor {
   public:
    void OnDone(const grpc::Status& status) override { done.set_value(status); }
    std::promise<grpc::Status> done;
  };

  // A call whose two messages are Blobs.
  static grpc::Status CallWithBlobs(
      const std::shared_ptr<grpc::Channel>& channel, const EchoRequest& request,
      EchoResponse* response) {
    grpc::TemplatedGenericStub<Blob, Blob> stub(channel);
    grpc::ClientContext context;
    const Blob sent{request.SerializeAsString()};
    Blob received;
    const std::string method = MethodName(EchoMethod::kIdempotent);
    grpc::Status status;
    if (GetParam() == BlobStyle::kQueue) {
      grpc::CompletionQueue cq;
      auto reader = stub.PrepareUnaryCall(&context, method, sent, &cq);
      reader->StartCall();
      reader->Finish(&received, &status, &cq);
      void* tag = nullptr;
      bool ok = false;
      EXPECT_TRUE(cq.Next(&tag, &ok) && ok);
      cq.Shutdown();
    } else {
      Reactor reactor;
      if (GetParam() == BlobStyle::kCallback) {
        stub.UnaryCall(
            &context, method, grpc::StubOptions(), &sent, &received,
            [&](const grpc::Status& s) { reactor.done.set_value(s); });
      } else {
        stub.PrepareUnaryCall(&context, method, grpc::StubOptions(), &sent,
                              &received, &reactor);
        reactor.StartCall();
      }
      status = reactor.done.get_future().get();
    }
    if (status.ok()) {
      EXPECT_TRUE(response->ParseFromString(received.bytes));
    }
    return status;
  }
};

// The completion queue form shows neither object before the call is made, so
// there a call with unknown classes can only end as without us or with INTERNAL.
TEST_P(MessageTypeTest, UnknownTypePassesThroughUnharmed) {
  Config config = RetryConfig();
  config.DefaultTarget().breaker.mode = BreakerMode::kEnabled;
  const auto resilience = MakeResilience(std::move(config));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = NewChannel(resilience);
  for (int i = 0; i < 3; ++i) {
    const EchoRequest request = NewRequest();
    EchoResponse response;
    const grpc::Status status = CallWithBlobs(channel, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_THAT(response.items(), testing::ElementsAre(request.payload(0)));
  }
  const EchoRequest request = FailingRequest(1);
  EchoResponse response;
  const grpc::Status status = CallWithBlobs(channel, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
  // The breaker counted the failure.
  EXPECT_EQ(resilience->FindBreaker(backend().target())->tokens, 15);
  // Said once, not once per call.
  WaitUntil([&] { return !log->notices().empty(); }, "the notice");
  EXPECT_THAT(log->notices(), SizeIs(1));
  EXPECT_EQ(log->notices()[0].method, MethodName(EchoMethod::kIdempotent));
  EXPECT_EQ(log->notices()[0].target, backend().target());
}

std::string BlobStyleName(const testing::TestParamInfo<BlobStyle>& info) {
  switch (info.param) {
    case BlobStyle::kCallback:
      return "Callback";
    case BlobStyle::kReactor:
      return "Reactor";
    case BlobStyle::kQueue:
      return "Queue";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(, MessageTypeTest,
                         testing::Values(BlobStyle::kCallback,
                                         BlobStyle::kReactor,
                                         BlobStyle::kQueue),
                         BlobStyleName);

class UnknownMethodTest : public EndToEndTest {};

// A method that no descriptor pool knows, by GenericStub: the server's answer.
TEST_F(UnknownMethodTest, GenericCallOfAnUnknownMethod) {
  grpc::GenericStub stub(NewChannel(RetryConfig()));
  grpc::ClientContext context;
  grpc::ByteBuffer sent;
  grpc::ByteBuffer received;
  std::promise<grpc::Status> done;
  grpc::Slice slice("x");
  sent = grpc::ByteBuffer(&slice, 1);
  stub.UnaryCall(&context, "/no.Service/Method", grpc::StubOptions(), &sent,
                 &received,
                 [&](const grpc::Status& status) { done.set_value(status); });
  EXPECT_EQ(done.get_future().get().error_code(), StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace grpc_resilience::test

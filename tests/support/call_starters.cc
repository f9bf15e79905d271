#include "support/call_starters.h"

#include <grpcpp/generic/generic_stub.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "interceptor/thread_handover.h"

namespace grpc_resilience::test {
namespace {

using Done = std::function<void(const grpc::Status&)>;

grpc::ByteBuffer ToBytes(const EchoRequest& message) {
  const std::string bytes = message.SerializeAsString();
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}
grpc::ByteBuffer ToBytes(const EchoResponse& message) {
  const std::string bytes = message.SerializeAsString();
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

void FromBytes(const grpc::ByteBuffer& bytes, EchoResponse* message) {
  grpc::Slice slice;
  if (!bytes.Valid() || !bytes.DumpToSingleSlice(&slice).ok() ||
      !message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    message->Clear();
    message->add_items("(unreadable bytes)");
  }
}

class SelfDeletingReactor : public grpc::ClientUnaryReactor {
 public:
  explicit SelfDeletingReactor(Done done) : done_(std::move(done)) {}
  void OnDone(const grpc::Status& status) override {
    const Done done = std::move(done_);
    const grpc::Status copy = status;
    delete this;
    done(copy);
  }

 private:
  Done done_;
};

grpc::Status CallSync(Echo::Stub* stub, EchoMethod method,
                      grpc::ClientContext* context, const EchoRequest& request,
                      EchoResponse* response) {
  switch (method) {
    case EchoMethod::kUnary:
      return stub->Unary(context, request, response);
    case EchoMethod::kIdempotent:
      return stub->Idempotent(context, request, response);
    case EchoMethod::kReadOnly:
      return stub->ReadOnly(context, request, response);
  }
  std::abort();
}

std::unique_ptr<grpc::ClientAsyncResponseReader<EchoResponse>> Prepare(
    Echo::Stub* stub, EchoMethod method, grpc::ClientContext* context,
    const EchoRequest& request, grpc::CompletionQueue* cq) {
  switch (method) {
    case EchoMethod::kUnary:
      return stub->PrepareAsyncUnary(context, request, cq);
    case EchoMethod::kIdempotent:
      return stub->PrepareAsyncIdempotent(context, request, cq);
    case EchoMethod::kReadOnly:
      return stub->PrepareAsyncReadOnly(context, request, cq);
  }
  std::abort();
}

// True when the next event is `tag` with ok.
bool NextIs(grpc::CompletionQueue* cq, void* tag) {
  void* got = nullptr;
  bool ok = false;
  if (!cq->Next(&got, &ok) || got != tag) std::abort();
  return ok;
}

template <typename Message>
grpc::Status FinishOnQueue(grpc::ClientAsyncResponseReader<Message>* reader,
                           bool read_initial_metadata, Message* response,
                           grpc::CompletionQueue* cq, bool* tag_ok) {
  int tag1 = 0;
  int tag2 = 0;
  reader->StartCall();
  if (read_initial_metadata) {
    reader->ReadInitialMetadata(&tag1);
    *tag_ok = NextIs(cq, &tag1) && *tag_ok;
  }
  grpc::Status status(grpc::StatusCode::DO_NOT_USE, "not set");
  reader->Finish(response, &status, &tag2);
  *tag_ok = NextIs(cq, &tag2) && *tag_ok;
  return status;
}

void Drain(grpc::CompletionQueue* cq) {
  cq->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  if (cq->Next(&tag, &ok)) std::abort();  // an event more than was asked for
}

}  // namespace

grpc::Status CallBlocking(CallStyle style,
                          const std::shared_ptr<grpc::Channel>& channel,
                          EchoMethod method, grpc::ClientContext* context,
                          const EchoRequest& request, EchoResponse* response,
                          bool* tag_ok) {
  if (style == CallStyle::kSync) {
    Echo::Stub stub(channel);
    return CallSync(&stub, method, context, request, response);
  }
  grpc::CompletionQueue cq;
  grpc::Status status;
  if (style == CallStyle::kGenericCq) {
    grpc::GenericStub stub(channel);
    grpc::ByteBuffer received = ToBytes(*response);
    const grpc::ByteBuffer sent = ToBytes(request);
    auto reader = stub.PrepareUnaryCall(context, MethodName(method), sent, &cq);
    status = FinishOnQueue(reader.get(), false, &received, &cq, tag_ok);
    FromBytes(received, response);
  } else {
    Echo::Stub stub(channel);
    // gRPC lets the caller drop the request right after this.
    auto sent = std::make_unique<EchoRequest>(request);
    auto reader = Prepare(&stub, method, context, *sent, &cq);
    sent.reset();
    status =
        FinishOnQueue(reader.get(), style == CallStyle::kAsyncCqInitialMetadata,
                      response, &cq, tag_ok);
  }
  Drain(&cq);
  return status;
}

bool Blocks(CallStyle style) {
  return style == CallStyle::kSync || style == CallStyle::kAsyncCq ||
         style == CallStyle::kAsyncCqInitialMetadata ||
         style == CallStyle::kGenericCq;
}

namespace {

void StartGeneric(CallStyle style,
                  const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, grpc::ClientContext* context,
                  const EchoRequest& request, EchoResponse* response,
                  Done done) {
  struct Parts {
    explicit Parts(const std::shared_ptr<grpc::Channel>& to) : stub(to) {}
    grpc::GenericStub stub;
    std::string name;
    grpc::ByteBuffer sent;
    grpc::ByteBuffer received;
  };
  auto parts = std::make_shared<Parts>(channel);
  parts->name = MethodName(method);
  parts->sent = ToBytes(request);
  parts->received = ToBytes(*response);
  Parts* const raw = parts.get();
  Done finish = [parts = std::move(parts), response,
                 done = std::move(done)](const grpc::Status& status) mutable {
    internal::TakeOver(parts.get());
    FromBytes(parts->received, response);
    parts.reset();
    done(status);
  };
  internal::HandOver(raw);
  if (style == CallStyle::kGenericCallback) {
    raw->stub.UnaryCall(context, raw->name, grpc::StubOptions(), &raw->sent,
                        &raw->received, std::move(finish));
  } else {
    auto* reactor = new SelfDeletingReactor(std::move(finish));
    raw->stub.PrepareUnaryCall(context, raw->name, grpc::StubOptions(),
                               &raw->sent, &raw->received, reactor);
    reactor->StartCall();
  }
}

}  // namespace

void StartCallback(CallStyle style,
                   const std::shared_ptr<grpc::Channel>& channel,
                   EchoMethod method, grpc::ClientContext* context,
                   const EchoRequest& request, EchoResponse* response,
                   Done done) {
  if (IsGeneric(style)) {
    StartGeneric(style, channel, method, context, request, response,
                 std::move(done));
    return;
  }
  Echo::Stub stub(channel);
  if (style == CallStyle::kCallback) {
    switch (method) {
      case EchoMethod::kUnary:
        stub.async()->Unary(context, &request, response, std::move(done));
        return;
      case EchoMethod::kIdempotent:
        stub.async()->Idempotent(context, &request, response, std::move(done));
        return;
      case EchoMethod::kReadOnly:
        stub.async()->ReadOnly(context, &request, response, std::move(done));
        return;
    }
  }
  auto* reactor = new SelfDeletingReactor(std::move(done));
  switch (method) {
    case EchoMethod::kUnary:
      stub.async()->Unary(context, &request, response, reactor);
      break;
    case EchoMethod::kIdempotent:
      stub.async()->Idempotent(context, &request, response, reactor);
      break;
    case EchoMethod::kReadOnly:
      stub.async()->ReadOnly(context, &request, response, reactor);
      break;
  }
  reactor->StartCall();
}

}  // namespace grpc_resilience::test

#include "support/stream_forms.h"

#include <grpcpp/generic/generic_stub.h>

#include <cstdlib>
#include <utility>

#include "support/queue_streams.h"
#include "support/reactor_streams.h"
#include "support/stream_messages.h"
#include "support/sync_stream.h"

namespace grpc_resilience::test {
namespace {

// Keeps the stub of a stream as long as the stream.
template <typename Stream>
class WithStub : public Stream {
 public:
  template <typename... Args>
  explicit WithStub(std::shared_ptr<void> stub, Args&&... args)
      : Stream(std::forward<Args>(args)...), stub_(std::move(stub)) {}

 private:
  const std::shared_ptr<void> stub_;
};

std::unique_ptr<TestStream> StartGeneric(
    StreamShape shape, const std::shared_ptr<grpc::Channel>& channel,
    grpc::ClientContext* context, const EchoRequest& request, bool corked) {
  auto stub = std::make_shared<grpc::GenericStub>(channel);
  const std::string method = StreamMethod(shape.kind);
  const bool unary_response = shape.kind == StreamKind::kClient;
  std::unique_ptr<TestStream> stream;
  if (shape.form == StreamForm::kGenericCq) {
    using Stream = WithStub<CqBidiStream<Bytes, Bytes>>;
    stream = std::make_unique<Stream>(
        stub, corked, unary_response, [&](grpc::CompletionQueue* queue) {
          return stub->PrepareCall(context, method, queue);
        });
  } else {
    using Stream = WithStub<ReactorBidiStream<Bytes, Bytes>>;
    stream = std::make_unique<Stream>(
        stub, context, unary_response, [&](auto* reactor) {
          stub->PrepareBidiStreamingCall(context, method, grpc::StubOptions(),
                                         reactor);
        });
  }
  if (shape.kind == StreamKind::kServer) stream->Write(request, true);
  return stream;
}

}  // namespace

std::string ToString(StreamForm form) {
  switch (form) {
    case StreamForm::kSync:
      return "Sync";
    case StreamForm::kAsyncCq:
      return "AsyncCq";
    case StreamForm::kReactor:
      return "Reactor";
    case StreamForm::kGenericCq:
      return "GenericCq";
    case StreamForm::kGenericReactor:
      return "GenericReactor";
  }
  return "";
}

std::string ToString(StreamKind kind) {
  switch (kind) {
    case StreamKind::kServer:
      return "Server";
    case StreamKind::kClient:
      return "Client";
    case StreamKind::kBidi:
      return "Bidi";
  }
  return "";
}

std::string StreamMethod(StreamKind kind) {
  return "/grpc_resilience.test.Echo/" + ToString(kind) + "Stream";
}

std::unique_ptr<TestStream> StartStream(
    StreamShape shape, const std::shared_ptr<grpc::Channel>& channel,
    grpc::ClientContext* context, const EchoRequest& request, bool corked) {
  if (corked) context->set_initial_metadata_corked(true);
  std::shared_ptr<Echo::Stub> stub = Echo::NewStub(channel);
  switch (shape.form) {
    case StreamForm::kSync:
      return std::make_unique<SyncStream>(shape.kind, channel, context,
                                          request);
    case StreamForm::kAsyncCq:
      switch (shape.kind) {
        case StreamKind::kServer:
          return std::make_unique<WithStub<CqServerStream>>(stub, stub.get(),
                                                            context, request);
        case StreamKind::kClient:
          return std::make_unique<WithStub<CqClientStream>>(stub, stub.get(),
                                                            context, corked);
        case StreamKind::kBidi:
          return std::make_unique<
              WithStub<CqBidiStream<EchoRequest, EchoResponse>>>(
              stub, corked, false, [&](grpc::CompletionQueue* queue) {
                return stub->PrepareAsyncBidiStream(context, queue);
              });
      }
      break;
    case StreamForm::kReactor:
      switch (shape.kind) {
        case StreamKind::kServer:
          return std::make_unique<WithStub<ReactorServerStream>>(
              stub, stub.get(), context, request);
        case StreamKind::kClient:
          return std::make_unique<WithStub<ReactorClientStream>>(
              stub, stub.get(), context);
        case StreamKind::kBidi:
          return std::make_unique<
              WithStub<ReactorBidiStream<EchoRequest, EchoResponse>>>(
              stub, context, false, [&](auto* reactor) {
                stub->async()->BidiStream(context, reactor);
              });
      }
      break;
    case StreamForm::kGenericCq:
    case StreamForm::kGenericReactor:
      return StartGeneric(shape, channel, context, request, corked);
  }
  std::abort();
}

}  // namespace grpc_resilience::test

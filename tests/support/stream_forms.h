// One stream in every form that gRPC C++ offers, behind blocking functions, so that
// each behaviour is tested in all of them.
//
//   auto stream = StartStream({StreamForm::kReactor, StreamKind::kBidi}, channel,
//                             &context, request);
//   stream->Write(request); stream->WritesDone();
//   while (stream->Read(&response)) ...
//   grpc::Status status = stream->Finish();

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

enum class StreamForm {
  kSync,
  kAsyncCq,
  kReactor,
  kGenericCq,
  kGenericReactor
};
enum class StreamKind { kServer, kClient, kBidi };
struct StreamShape {
  StreamForm form;
  StreamKind kind;
};

std::string ToString(StreamForm form);
std::string ToString(StreamKind kind);
/// "/grpc_resilience.test.Echo/BidiStream".
std::string StreamMethod(StreamKind kind);

/// One thread may write while another reads. Destroying it without Finish lets go of
/// the stream in the way that its form allows.
class TestStream {
 public:
  virtual ~TestStream() = default;
  /// Not for server streams, whose request is sent at the start.
  virtual bool Write(const EchoRequest& request, bool last = false) = 0;
  virtual bool WritesDone() = 0;
  /// Not for client streams, whose response comes with Finish.
  virtual bool Read(EchoResponse* response) = 0;
  /// Once, before the first Read. Reactors ask for it at the start.
  virtual void WaitForInitialMetadata() = 0;
  virtual grpc::Status Finish() = 0;
  /// Of a client stream, after Finish.
  const EchoResponse& response() const { return response_; }

 protected:
  EchoResponse response_;
};

/// `request` is that of a server stream. The context must outlive the stream.
/// `corked`: nothing is sent before the first write.
std::unique_ptr<TestStream> StartStream(
    StreamShape shape, const std::shared_ptr<grpc::Channel>& channel,
    grpc::ClientContext* context, const EchoRequest& request,
    bool corked = false);

}  // namespace grpc_resilience::test

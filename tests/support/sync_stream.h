// A stream by the blocking API.

#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "support/stream_forms.h"

namespace grpc_resilience::test {

class SyncStream : public TestStream {
 public:
  SyncStream(StreamKind kind, const std::shared_ptr<grpc::Channel>& channel,
             grpc::ClientContext* context, const EchoRequest& request)
      : stub_(Echo::NewStub(channel)) {
    switch (kind) {
      case StreamKind::kServer:
        reader_ = stub_->ServerStream(context, request);
        break;
      case StreamKind::kClient:
        writer_ = stub_->ClientStream(context, &response_);
        break;
      case StreamKind::kBidi:
        both_ = stub_->BidiStream(context);
        break;
    }
  }
  bool Write(const EchoRequest& request, bool last) override {
    grpc::WriteOptions options;
    if (last) options.set_last_message();
    return writer_ != nullptr ? writer_->Write(request, options)
                              : both_->Write(request, options);
  }
  bool WritesDone() override {
    return writer_ != nullptr ? writer_->WritesDone() : both_->WritesDone();
  }
  bool Read(EchoResponse* response) override {
    return reader_ != nullptr ? reader_->Read(response) : both_->Read(response);
  }
  void WaitForInitialMetadata() override {
    if (reader_ != nullptr) {
      reader_->WaitForInitialMetadata();
    } else if (writer_ != nullptr) {
      writer_->WaitForInitialMetadata();
    } else {
      both_->WaitForInitialMetadata();
    }
  }
  grpc::Status Finish() override {
    return reader_ != nullptr   ? reader_->Finish()
           : writer_ != nullptr ? writer_->Finish()
                                : both_->Finish();
  }

 private:
  const std::unique_ptr<Echo::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<EchoResponse>> reader_;
  std::unique_ptr<grpc::ClientWriter<EchoRequest>> writer_;
  std::unique_ptr<grpc::ClientReaderWriter<EchoRequest, EchoResponse>> both_;
};

}  // namespace grpc_resilience::test

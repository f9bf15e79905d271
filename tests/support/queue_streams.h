// Streams by completion queue.

#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "support/stream_forms.h"
#include "support/stream_messages.h"

namespace grpc_resilience::test {

// Waits for single tags of a queue, from several threads.
class TagQueue {
 public:
  TagQueue() : thread_([this] { Run(); }) {}
  ~TagQueue() {
    queue_.Shutdown();
    thread_.join();
  }
  grpc::CompletionQueue* queue() { return &queue_; }
  bool Wait(void* tag) {
    std::unique_lock<std::mutex> lock(mu_);
    arrived_.wait(lock, [&] { return tags_.count(tag) > 0; });
    const bool ok = tags_[tag];
    tags_.erase(tag);
    return ok;
  }

 private:
  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      std::lock_guard<std::mutex> lock(mu_);
      tags_[tag] = ok;
      arrived_.notify_all();
    }
  }

  grpc::CompletionQueue queue_;
  std::mutex mu_;
  std::condition_variable arrived_;
  std::map<void*, bool> tags_;
  std::thread thread_;
};

// What ends when its tag arrives is named by the address of one of these.
struct Tags {
  char start, write, read, headers, finish;
};

template <typename Call>
class CqBase : public TestStream {
 public:
  void WaitForInitialMetadata() override {
    call_->ReadInitialMetadata(&tags_.headers);
    tags_queue_.Wait(&tags_.headers);
  }
  grpc::Status Finish() override {
    grpc::Status status;
    call_->Finish(&status, &tags_.finish);
    tags_queue_.Wait(&tags_.finish);
    return status;
  }

 protected:
  bool WaitFor(char* tag) { return tags_queue_.Wait(tag); }
  void Start(bool corked) {
    call_->StartCall(&tags_.start);
    if (!corked) WaitFor(&tags_.start);
  }

  Tags tags_{};
  std::unique_ptr<Call> call_;
  TagQueue tags_queue_;
};

class CqServerStream : public CqBase<grpc::ClientAsyncReader<EchoResponse>> {
 public:
  CqServerStream(Echo::Stub* stub, grpc::ClientContext* context,
                 const EchoRequest& request) {
    call_ =
        stub->PrepareAsyncServerStream(context, request, tags_queue_.queue());
    Start(false);
  }
  bool Write(const EchoRequest&, bool) override { std::abort(); }
  bool WritesDone() override { std::abort(); }
  bool Read(EchoResponse* response) override {
    call_->Read(response, &tags_.read);
    return WaitFor(&tags_.read);
  }
};

class CqClientStream : public CqBase<grpc::ClientAsyncWriter<EchoRequest>> {
 public:
  CqClientStream(Echo::Stub* stub, grpc::ClientContext* context, bool corked) {
    call_ = stub->PrepareAsyncClientStream(context, &response_,
                                           tags_queue_.queue());
    Start(corked);
  }
  bool Write(const EchoRequest& request, bool last) override {
    if (last) {
      call_->WriteLast(request, grpc::WriteOptions(), &tags_.write);
    } else {
      call_->Write(request, &tags_.write);
    }
    return WaitFor(&tags_.write);
  }
  bool WritesDone() override {
    call_->WritesDone(&tags_.write);
    return WaitFor(&tags_.write);
  }
  bool Read(EchoResponse*) override { std::abort(); }
};

template <typename Request, typename Response>
class CqBidiStream
    : public CqBase<grpc::ClientAsyncReaderWriter<Request, Response>> {
 public:
  using Base = CqBase<grpc::ClientAsyncReaderWriter<Request, Response>>;
  template <typename Prepare>
  CqBidiStream(bool corked, bool unary_response, Prepare prepare)
      : unary_response_(unary_response) {
    this->call_ = prepare(this->tags_queue_.queue());
    this->Start(corked);
  }
  bool Write(const EchoRequest& request, bool last) override {
    const Request message = To<Request>(request);
    if (last) {
      this->call_->WriteLast(message, grpc::WriteOptions(), &this->tags_.write);
    } else {
      this->call_->Write(message, &this->tags_.write);
    }
    return this->WaitFor(&this->tags_.write);
  }
  bool WritesDone() override {
    this->call_->WritesDone(&this->tags_.write);
    return this->WaitFor(&this->tags_.write);
  }
  bool Read(EchoResponse* response) override {
    this->call_->Read(&message_, &this->tags_.read);
    if (!this->WaitFor(&this->tags_.read)) return false;
    From(&message_, response);
    return true;
  }
  grpc::Status Finish() override {
    if (unary_response_) {
      while (Read(&this->response_)) {
      }
    }
    return Base::Finish();
  }

 private:
  const bool unary_response_;
  Response message_;
};

}  // namespace grpc_resilience::test

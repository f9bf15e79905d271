// Streams by reactor.

#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "support/stream_forms.h"
#include "support/stream_messages.h"

namespace grpc_resilience::test {

// The part that is the same for all reactors.
class Events {
 public:
  enum Kind { kHeaders, kWrite, kWritesDone, kRead, kDone, kKinds };
  void Set(Kind kind, bool ok) {
    std::lock_guard<std::mutex> lock(mu_);
    happened_[kind] = true;
    ok_[kind] = ok;
    changed_.notify_all();
  }
  bool Wait(Kind kind) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return happened_[kind]; });
    if (kind != kHeaders) happened_[kind] = false;
    return ok_[kind];
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool happened_[kKinds] = {};
  bool ok_[kKinds] = {};
};

// `Base` is one of gRPC's reactors; the functions it doesn't have aren't called.
template <typename Base>
class EventReactor : public Base {
 public:
  void OnReadInitialMetadataDone(bool ok) override {
    events_.Set(Events::kHeaders, ok);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    events_.Set(Events::kDone, true);
  }
  Events events_;
  grpc::Status status_;
};

class ReadReactor : public EventReactor<grpc::ClientReadReactor<EchoResponse>> {
 public:
  void OnReadDone(bool ok) override { events_.Set(Events::kRead, ok); }
};
class WriteReactor
    : public EventReactor<grpc::ClientWriteReactor<EchoRequest>> {
 public:
  void OnWriteDone(bool ok) override { events_.Set(Events::kWrite, ok); }
  void OnWritesDoneDone(bool ok) override {
    events_.Set(Events::kWritesDone, ok);
  }
};
template <typename Request, typename Response>
class BidiReactor
    : public EventReactor<grpc::ClientBidiReactor<Request, Response>> {
 public:
  void OnReadDone(bool ok) override { this->events_.Set(Events::kRead, ok); }
  void OnWriteDone(bool ok) override { this->events_.Set(Events::kWrite, ok); }
  void OnWritesDoneDone(bool ok) override {
    this->events_.Set(Events::kWritesDone, ok);
  }
};

// Ops are started from outside, so a hold is needed; it goes in Finish.
template <typename Reactor>
class ReactorBase : public TestStream {
 public:
  ~ReactorBase() override {
    if (finished_) return;
    // OnDone is the only end a reactor has.
    context_->TryCancel();
    ReactorBase::Finish();
  }
  void WaitForInitialMetadata() override {
    reactor_.events_.Wait(Events::kHeaders);
  }
  grpc::Status Finish() override {
    finished_ = true;
    reactor_.RemoveHold();
    reactor_.events_.Wait(Events::kDone);
    return reactor_.status_;
  }

 protected:
  explicit ReactorBase(grpc::ClientContext* context) : context_(context) {}
  void Start() {
    reactor_.AddHold();
    reactor_.StartCall();
  }
  grpc::ClientContext* const context_;
  Reactor reactor_;
  bool finished_ = false;
};

class ReactorServerStream : public ReactorBase<ReadReactor> {
 public:
  ReactorServerStream(Echo::Stub* stub, grpc::ClientContext* context,
                      EchoRequest request)
      : ReactorBase(context), request_(std::move(request)) {
    stub->async()->ServerStream(context, &request_, &reactor_);
    Start();
  }
  bool Write(const EchoRequest&, bool) override { std::abort(); }
  bool WritesDone() override { std::abort(); }
  bool Read(EchoResponse* response) override {
    reactor_.StartRead(response);
    return reactor_.events_.Wait(Events::kRead);
  }

 private:
  const EchoRequest request_;
};

class ReactorClientStream : public ReactorBase<WriteReactor> {
 public:
  ReactorClientStream(Echo::Stub* stub, grpc::ClientContext* context)
      : ReactorBase(context) {
    stub->async()->ClientStream(context, &response_, &reactor_);
    Start();
  }
  bool Write(const EchoRequest& request, bool last) override {
    if (last) {
      reactor_.StartWriteLast(&request, grpc::WriteOptions());
    } else {
      reactor_.StartWrite(&request);
    }
    return reactor_.events_.Wait(Events::kWrite);
  }
  bool WritesDone() override {
    reactor_.StartWritesDone();
    return reactor_.events_.Wait(Events::kWritesDone);
  }
  bool Read(EchoResponse*) override { std::abort(); }
};

template <typename Request, typename Response>
class ReactorBidiStream : public ReactorBase<BidiReactor<Request, Response>> {
 public:
  using Base = ReactorBase<BidiReactor<Request, Response>>;
  template <typename Bind>
  ReactorBidiStream(grpc::ClientContext* context, bool unary_response,
                    Bind bind)
      : Base(context), unary_response_(unary_response) {
    bind(&this->reactor_);
    this->Start();
  }
  bool Write(const EchoRequest& request, bool last) override {
    sent_ = To<Request>(request);
    if (last) {
      this->reactor_.StartWriteLast(&sent_, grpc::WriteOptions());
    } else {
      this->reactor_.StartWrite(&sent_);
    }
    return this->reactor_.events_.Wait(Events::kWrite);
  }
  bool WritesDone() override {
    this->reactor_.StartWritesDone();
    return this->reactor_.events_.Wait(Events::kWritesDone);
  }
  bool Read(EchoResponse* response) override {
    this->reactor_.StartRead(&message_);
    if (!this->reactor_.events_.Wait(Events::kRead)) return false;
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
  Request sent_;
  Response message_;
};

}  // namespace grpc_resilience::test

#include "support/stream_forms.h"

#include <grpcpp/generic/generic_stub.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "interceptor/thread_handover.h"

namespace grpc_resilience::test {
namespace {

using Bytes = grpc::ByteBuffer;

template <typename Message>
Message To(const EchoRequest& request);
template <>
EchoRequest To<EchoRequest>(const EchoRequest& request) {
  return request;
}
template <>
Bytes To<Bytes>(const EchoRequest& request) {
  const std::string bytes = request.SerializeAsString();
  grpc::Slice slice(bytes);
  return Bytes(&slice, 1);
}
void From(EchoResponse* from, EchoResponse* to) { to->Swap(from); }
void From(Bytes* from, EchoResponse* to) {
  grpc::Slice slice;
  to->Clear();
  if (!from->DumpToSingleSlice(&slice).ok() ||
      !to->ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    to->add_items("(unreadable bytes)");
  }
}

// --- Sync -------------------------------------------------------------------

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

// --- Completion queue -------------------------------------------------------

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

// --- Reactors ---------------------------------------------------------------

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

#include "support/call_styles.h"

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/watchdog.h"

namespace grpc_resilience::test {
namespace {

using Clock = std::chrono::steady_clock;
using Done = std::function<void(const grpc::Status&)>;

std::vector<std::string> Values(const MetadataMap& map, const std::string& key) {
  std::vector<std::string> values;
  const auto [begin, end] = map.equal_range(key);
  for (auto it = begin; it != end; ++it) values.push_back(it->second);
  return values;
}

MetadataMap CopyOf(const std::multimap<grpc::string_ref, grpc::string_ref>& map) {
  MetadataMap copy;
  for (const auto& [key, value] : map) {
    copy.emplace(std::string(key.data(), key.size()),
                 std::string(value.data(), value.size()));
  }
  return copy;
}

// Everything the caller can see on the context after the call.
void Capture(const grpc::ClientContext& context, CallResult* result) {
  result->initial_metadata = CopyOf(context.GetServerInitialMetadata());
  result->trailing_metadata = CopyOf(context.GetServerTrailingMetadata());
  result->peer = context.peer();
  result->debug_error_string = context.debug_error_string();
}

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

// The styles that block the calling thread.
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
    auto reader =
        stub.PrepareUnaryCall(context, MethodName(method), sent, &cq);
    status = FinishOnQueue(reader.get(), false, &received, &cq, tag_ok);
    FromBytes(received, response);
  } else {
    Echo::Stub stub(channel);
    // gRPC lets the caller drop the request right after this.
    auto sent = std::make_unique<EchoRequest>(request);
    auto reader = Prepare(&stub, method, context, *sent, &cq);
    sent.reset();
    status = FinishOnQueue(reader.get(),
                           style == CallStyle::kAsyncCqInitialMetadata, response,
                           &cq, tag_ok);
  }
  Drain(&cq);
  return status;
}

bool Blocks(CallStyle style) {
  return style == CallStyle::kSync || style == CallStyle::kAsyncCq ||
         style == CallStyle::kAsyncCqInitialMetadata ||
         style == CallStyle::kGenericCq;
}

void StartGeneric(CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, grpc::ClientContext* context,
                  const EchoRequest& request, EchoResponse* response, Done done) {
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
    FromBytes(parts->received, response);
    parts.reset();
    done(status);
  };
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

// The styles that end in a function.
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

}  // namespace

struct RunningCall::State {
  std::mutex mu;
  std::condition_variable changed;
  bool done = false;
  CallResult result;
  std::thread thread;
  std::atomic<int> completions{0};
  Clock::time_point started = Clock::now();

  void Complete(CallResult value) {
    if (completions.fetch_add(1) != 0) {
      std::fprintf(stderr, "%s: a call completed twice\n",
                   CurrentTestName().c_str());
      std::abort();
    }
    value.elapsed = Clock::now() - started;
    std::lock_guard<std::mutex> lock(mu);
    result = std::move(value);
    done = true;
    changed.notify_all();
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mu);
    changed.wait(lock, [this] { return done; });
    if (thread.joinable()) {
      lock.unlock();
      thread.join();
    }
  }
};

namespace {

CallResult Measured(CallStyle style,
                    const std::shared_ptr<grpc::Channel>& channel,
                    EchoMethod method, grpc::ClientContext* context,
                    const EchoRequest& request, EchoResponse* response) {
  CallResult result;
  const auto started = Clock::now();
  result.status = CallBlocking(style, channel, method, context, request,
                               response, &result.tag_ok);
  result.elapsed = Clock::now() - started;
  Capture(*context, &result);
  return result;
}

}  // namespace

std::string ToString(CallStyle style) {
  switch (style) {
    case CallStyle::kSync:
      return "Sync";
    case CallStyle::kAsyncCq:
      return "AsyncCq";
    case CallStyle::kAsyncCqInitialMetadata:
      return "AsyncCqInitialMetadata";
    case CallStyle::kCallback:
      return "Callback";
    case CallStyle::kReactor:
      return "Reactor";
    case CallStyle::kGenericCq:
      return "GenericCq";
    case CallStyle::kGenericCallback:
      return "GenericCallback";
    case CallStyle::kGenericReactor:
      return "GenericReactor";
  }
  std::abort();
}

std::string CallStyleName(const testing::TestParamInfo<CallStyle>& info) {
  return ToString(info.param);
}

bool IsGeneric(CallStyle style) {
  return style == CallStyle::kGenericCq ||
         style == CallStyle::kGenericCallback ||
         style == CallStyle::kGenericReactor;
}

bool ShowsRequestObject(CallStyle style) {
  return style == CallStyle::kSync || style == CallStyle::kCallback ||
         style == CallStyle::kReactor;
}

std::string MethodName(EchoMethod method) {
  switch (method) {
    case EchoMethod::kUnary:
      return "/grpc_resilience.test.Echo/Unary";
    case EchoMethod::kIdempotent:
      return "/grpc_resilience.test.Echo/Idempotent";
    case EchoMethod::kReadOnly:
      return "/grpc_resilience.test.Echo/ReadOnly";
  }
  std::abort();
}

std::vector<std::string> CallResult::Initial(const std::string& key) const {
  return Values(initial_metadata, key);
}

std::vector<std::string> CallResult::Trailing(const std::string& key) const {
  return Values(trailing_metadata, key);
}

CallResult Call(CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
                EchoMethod method, grpc::ClientContext* context,
                const EchoRequest& request, EchoResponse* response) {
  if (Blocks(style)) {
    return Measured(style, channel, method, context, request, response);
  }
  return Start(style, channel, method, context, request, response).Wait();
}

RunningCall::~RunningCall() {
  if (state_ != nullptr) state_->Wait();
}

bool RunningCall::done() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->done;
}

CallResult RunningCall::Wait() {
  state_->Wait();
  return state_->result;
}

RunningCall Start(CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, grpc::ClientContext* context,
                  const EchoRequest& request, EchoResponse* response) {
  auto state = std::make_shared<RunningCall::State>();
  if (Blocks(style)) {
    state->thread = std::thread([=, &request, raw = state.get()] {
      raw->Complete(
          Measured(style, channel, method, context, request, response));
    });
  } else {
    StartCallback(style, channel, method, context, request, response,
                  [state, context](const grpc::Status& status) {
                    CallResult result;
                    result.status = status;
                    Capture(*context, &result);
                    state->Complete(std::move(result));
                  });
  }
  return RunningCall(std::move(state));
}

RunningCall StartSelfDeleting(
    CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
    EchoMethod method, const std::function<void(grpc::ClientContext*)>& prepare,
    const EchoRequest& request) {
  struct Parts {
    grpc::ClientContext context;
    EchoRequest request;
    EchoResponse response;
  };
  auto parts = std::make_unique<Parts>();
  parts->request = request;
  if (prepare) prepare(&parts->context);
  auto state = std::make_shared<RunningCall::State>();
  Parts* const raw = parts.get();
  if (Blocks(style)) {
    state->thread = std::thread(
        [style, channel, method, parts = std::move(parts), raw_state = state.get()]() mutable {
          CallResult result =
              Measured(style, channel, method, &parts->context, parts->request,
                       &parts->response);
          parts.reset();
          raw_state->Complete(std::move(result));
        });
  } else {
    StartCallback(style, channel, method, &raw->context, raw->request,
                  &raw->response,
                  [state, owned = std::shared_ptr<Parts>(std::move(parts))](
                      const grpc::Status& status) mutable {
                    CallResult result;
                    result.status = status;
                    Capture(owned->context, &result);
                    owned.reset();
                    state->Complete(std::move(result));
                  });
  }
  return RunningCall(std::move(state));
}

}  // namespace grpc_resilience::test

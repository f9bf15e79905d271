#include "benchmark/calls.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "benchmark/usage.h"

namespace grpc_resilience::bench {
namespace {

void Check(const grpc::Status& status, grpc::StatusCode expected) {
  if (status.error_code() == expected) return;
  Malfunction("a call ended with code " + std::to_string(status.error_code()) +
              ": " + status.error_message());
}

void Prepare(const CallKind& kind, grpc::ClientContext* context) {
  if (!kind.time_limit) return;
  context->set_deadline(std::chrono::system_clock::now() + *kind.time_limit);
}

void RunSync(Bench::Stub& stub, const CallKind& kind, int count) {
  const Payload request = MakeRequest();
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    Prepare(kind, &context);
    Payload response;
    Check(kind.method == Method::kWatched
              ? stub.Watched(&context, request, &response)
              : stub.Retried(&context, request, &response),
          kind.expected);
  }
}

void RunCompletionQueue(Bench::Stub& stub, const CallKind& kind, int count) {
  const Payload request = MakeRequest();
  grpc::CompletionQueue queue;
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    Prepare(kind, &context);
    Payload response;
    grpc::Status status;
    const auto call = kind.method == Method::kWatched
                          ? stub.AsyncWatched(&context, request, &queue)
                          : stub.AsyncRetried(&context, request, &queue);
    call->Finish(&response, &status, &context);
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok) || tag != &context) {
      Malfunction("the completion queue gave no event");
    }
    Check(status, kind.expected);
  }
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

// Each call is started when the one before is over, on gRPC's thread.
class CallbackChain {
 public:
  CallbackChain(Bench::Stub& stub, const CallKind& kind, int count)
      : stub_(stub), kind_(kind), left_(count) {}

  void RunAndWait() {
    Next();
    std::unique_lock<std::mutex> lock(mu_);
    over_.wait(lock, [this] { return is_over_; });
  }

 private:
  void Next() {
    context_.emplace();
    Prepare(kind_, &*context_);
    const auto done = [this](const grpc::Status& status) { OnDone(status); };
    if (kind_.method == Method::kWatched) {
      stub_.async()->Watched(&*context_, &request_, &response_, done);
    } else {
      stub_.async()->Retried(&*context_, &request_, &response_, done);
    }
  }

  void OnDone(const grpc::Status& status) {
    Check(status, kind_.expected);
    if (--left_ > 0) {
      Next();
      return;
    }
    const std::lock_guard<std::mutex> lock(mu_);
    is_over_ = true;
    over_.notify_one();
  }

  Bench::Stub& stub_;
  const CallKind& kind_;
  int left_;
  const Payload request_ = MakeRequest();
  Payload response_;
  std::optional<grpc::ClientContext> context_;
  std::mutex mu_;
  std::condition_variable over_;
  bool is_over_ = false;
};

}  // namespace

std::optional<Style> ParseStyle(std::string_view name) {
  if (name == "sync") return Style::kSync;
  if (name == "cq") return Style::kCompletionQueue;
  if (name == "cb") return Style::kCallback;
  return std::nullopt;
}

Method MethodOf(Variant variant) {
  return variant == Variant::kOursPass ? Method::kWatched : Method::kRetried;
}

Payload MakeRequest() {
  Payload request;
  request.set_data("sixteen bytes...");
  return request;
}

void RunCalls(Bench::Stub& stub, const CallKind& kind, int count) {
  switch (kind.style) {
    case Style::kSync:
      return RunSync(stub, kind, count);
    case Style::kCompletionQueue:
      return RunCompletionQueue(stub, kind, count);
    case Style::kCallback:
      return CallbackChain(stub, kind, count).RunAndWait();
  }
}

}  // namespace grpc_resilience::bench

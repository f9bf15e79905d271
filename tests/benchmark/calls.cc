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

void RunSync(Bench::Stub& stub, Method method, int count,
             grpc::StatusCode expected) {
  const Payload request = MakeRequest();
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    Payload response;
    Check(method == Method::kWatched
              ? stub.Watched(&context, request, &response)
              : stub.Retried(&context, request, &response),
          expected);
  }
}

void RunCompletionQueue(Bench::Stub& stub, Method method, int count,
                        grpc::StatusCode expected) {
  const Payload request = MakeRequest();
  grpc::CompletionQueue queue;
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    Payload response;
    grpc::Status status;
    const auto call = method == Method::kWatched
                          ? stub.AsyncWatched(&context, request, &queue)
                          : stub.AsyncRetried(&context, request, &queue);
    call->Finish(&response, &status, &context);
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok) || tag != &context) {
      Malfunction("the completion queue gave no event");
    }
    Check(status, expected);
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
  CallbackChain(Bench::Stub& stub, Method method, int count,
                grpc::StatusCode expected)
      : stub_(stub), method_(method), left_(count), expected_(expected) {}

  void RunAndWait() {
    Next();
    std::unique_lock<std::mutex> lock(mu_);
    over_.wait(lock, [this] { return is_over_; });
  }

 private:
  void Next() {
    context_.emplace();
    const auto done = [this](const grpc::Status& status) { OnDone(status); };
    if (method_ == Method::kWatched) {
      stub_.async()->Watched(&*context_, &request_, &response_, done);
    } else {
      stub_.async()->Retried(&*context_, &request_, &response_, done);
    }
  }

  void OnDone(const grpc::Status& status) {
    Check(status, expected_);
    if (--left_ > 0) {
      Next();
      return;
    }
    const std::lock_guard<std::mutex> lock(mu_);
    is_over_ = true;
    over_.notify_one();
  }

  Bench::Stub& stub_;
  const Method method_;
  int left_;
  const grpc::StatusCode expected_;
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

void RunCalls(Bench::Stub& stub, Method method, Style style, int count,
              grpc::StatusCode expected) {
  switch (style) {
    case Style::kSync:
      return RunSync(stub, method, count, expected);
    case Style::kCompletionQueue:
      return RunCompletionQueue(stub, method, count, expected);
    case Style::kCallback:
      return CallbackChain(stub, method, count, expected).RunAndWait();
  }
}

}  // namespace grpc_resilience::bench

#include "support/call_styles.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "interceptor/thread_handover.h"
#include "support/call_starters.h"
#include "support/watchdog.h"

namespace grpc_resilience::test {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> Values(const MetadataMap& map,
                                const std::string& key) {
  std::vector<std::string> values;
  const auto [begin, end] = map.equal_range(key);
  for (auto it = begin; it != end; ++it) values.push_back(it->second);
  return values;
}

MetadataMap CopyOf(
    const std::multimap<grpc::string_ref, grpc::string_ref>& map) {
  MetadataMap copy;
  for (const auto& [key, value] : map) {
    copy.emplace(std::string(key.data(), key.size()),
                 std::string(value.data(), value.size()));
  }
  return copy;
}

// Everything the caller can see on the context after the call.
void Capture(const grpc::ClientContext& context, CallResult* result) {
  internal::TakeOver(&context);
  result->initial_metadata = CopyOf(context.GetServerInitialMetadata());
  result->trailing_metadata = CopyOf(context.GetServerTrailingMetadata());
  result->peer = context.peer();
  result->debug_error_string = context.debug_error_string();
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

RunningCall Start(CallStyle style,
                  const std::shared_ptr<grpc::Channel>& channel,
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
    state->thread =
        std::thread([style, channel, method, parts = std::move(parts),
                     raw_state = state.get()]() mutable {
          CallResult result = Measured(style, channel, method, &parts->context,
                                       parts->request, &parts->response);
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

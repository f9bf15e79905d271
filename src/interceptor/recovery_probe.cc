#include "interceptor/recovery_probe.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <string>
#include <utility>

#include "interceptor/channel_recovery.h"
#include "interceptor/inner_call_scope.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";

// HealthCheckResponse{status: SERVING}: field 1, value 1.
bool SaysServing(const grpc::ByteBuffer& response) {
  grpc::Slice bytes;
  return response.DumpToSingleSlice(&bytes).ok() && bytes.size() == 2 &&
         bytes.begin()[0] == 8 && bytes.begin()[1] == 1;
}

class ProbeCall final : public RecoveryEvent {
 public:
  ProbeCall(std::shared_ptr<WatchedBreaker> watch, Permit permit,
            std::shared_ptr<grpc::Channel> channel)
      : watch_(std::move(watch)),
        permit_(std::move(permit)),
        channel_(std::move(channel)),
        stub_(channel_) {}

  void Run(grpc::CompletionQueue* queue) {
    const BackgroundProbe& probe = *watch_->background_probe;
    watch_->probing = true;
    context_.set_deadline(std::chrono::system_clock::now() + probe.timeout);
    grpc::Slice bytes(probe.request);
    const grpc::ByteBuffer request(&bytes, 1);
    const InnerCallScope inner;
    reader_ = stub_.PrepareUnaryCall(&context_, probe.method, request, queue);
    reader_->StartCall();
    reader_->Finish(&response_, &status_, static_cast<RecoveryEvent*>(this));
  }

  void OnEvent() override {
    Report();
    watch_->probing = false;
    delete this;
  }

 private:
  void Report() {
    const bool healthy = watch_->background_probe->method != kHealthCheck ||
                         SaysServing(response_);
    if (status_.ok() && healthy) {
      permit_.Record(Outcome::kSuccess);
    } else if (status_.ok()) {
      permit_.Record(Outcome::kFailure, StatusCode::UNAVAILABLE,
                     "the health check doesn't say SERVING");
    } else if (status_.error_code() == StatusCode::UNAVAILABLE &&
               channel_->GetState(false) != GRPC_CHANNEL_READY) {
      permit_.Ignore(IgnoredCause::kNeutralProbe);
    } else {
      permit_.Record(Outcome::kFailure, status_.error_code(),
                     status_.error_message());
    }
  }

  const std::shared_ptr<WatchedBreaker> watch_;
  Permit permit_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
};

}  // namespace

void RecoveryProbe::Start(const std::shared_ptr<WatchedBreaker>& watch,
                          const std::shared_ptr<grpc::Channel>& channel,
                          grpc::CompletionQueue* queue) {
  // A rejection would count as one of a caller's.
  if (watch->probing || watch->breaker->WouldReject()) return;
  std::optional<Permit> permit = watch->breaker->TryAcquire();
  if (!permit || !permit->is_probe()) return;
  auto* const call = new ProbeCall(watch, *std::move(permit), channel);
  call->Run(queue);  // deletes itself in OnEvent
}

}  // namespace grpc_resilience::internal

#include "queue/delivery.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_resilience/fallback.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {

DeliveryResult JudgeDelivery(grpc::StatusCode code, bool rejected_by_breaker) {
  if (code == grpc::StatusCode::OK) return DeliveryResult::kDone;
  if (rejected_by_breaker) return DeliveryResult::kRejected;
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::UNAUTHENTICATED:
      return DeliveryResult::kAgain;
    default:
      return DeliveryResult::kNever;
  }
}

void Delivery::Start(WallTime deadline, std::function<void()> done) {
  context_.set_deadline(std::chrono::system_clock::time_point(deadline));
  for (const auto& [key, value] : entry_.metadata) {
    context_.AddMetadata(key, value);
  }
  context_.AddMetadata(kWithoutFallbacksKey, "1");
  const grpc::Slice slice(entry_.request);
  request_ = grpc::ByteBuffer(&slice, 1);
  grpc::GenericStub stub(channel_);
  stub.UnaryCall(&context_, entry_.method, grpc::StubOptions(), &request_,
                 &response_,
                 [this, done = std::move(done)](grpc::Status status) {
                   status_ = std::move(status);
                   done();
                 });
}

DeliveryResult Delivery::result() const {
  const auto& trailing = context_.GetServerTrailingMetadata();
  const auto reason = trailing.find("grpc-resilience-reason");
  return JudgeDelivery(
      status_.error_code(),
      reason != trailing.end() && reason->second == "BREAKER_OPEN");
}

std::string Delivery::error() const {
  return status_.error_message().empty()
             ? StatusCodeName(status_.error_code())
             : absl::StrCat(StatusCodeName(status_.error_code()), ": ",
                            status_.error_message());
}

}  // namespace grpc_resilience::internal

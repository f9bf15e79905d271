#include "interceptor/status_details.h"

#include <chrono>
#include <string_view>

#include "core/utf8.h"
#include "grpc_resilience/rpc/v1/status.pb.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience::internal {
namespace {

// The wire format is that of the google.rpc messages; the types are our own,
// because a second registration of google.rpc ends a process that links googleapis.
template <typename Message>
void AddDetail(const char* type_url, const Message& detail,
               rpc::v1::Status* status) {
  rpc::v1::Any* any = status->add_details();
  any->set_type_url(type_url);
  detail.SerializeToString(any->mutable_value());
}

}  // namespace

RejectionDetails::RejectionDetails(const std::string& target) {
  rpc::v1::ErrorInfo error;
  error.set_reason(std::string(ToString(StopReason::kBreakerOpen)));
  error.set_domain(kErrorDomain);
  (*error.mutable_metadata())["target"] = ValidUtf8(target);
  rpc::v1::Status status;
  AddDetail(kErrorInfoType, error, &status);
  error_info_ = status.SerializeAsString();
}

std::string RejectionDetails::Make(int code, const std::string& message,
                                   Duration retry_after) const {
  using std::chrono::seconds;
  rpc::v1::RetryInfo retry;
  const auto whole = std::chrono::duration_cast<seconds>(retry_after);
  retry.mutable_retry_delay()->set_seconds(whole.count());
  retry.mutable_retry_delay()->set_nanos(
      static_cast<int>((retry_after - whole).count()));

  // The parts of a message, serialised one after the other, are the message.
  rpc::v1::Status head;
  head.set_code(code);
  head.set_message(ValidUtf8(message));
  rpc::v1::Status tail;
  AddDetail(kRetryInfoType, retry, &tail);
  std::string bytes;
  head.AppendToString(&bytes);
  bytes += error_info_;
  tail.AppendToString(&bytes);
  return bytes;
}

}  // namespace grpc_resilience::internal

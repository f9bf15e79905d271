#include "interceptor/status_details.h"

#include <string_view>

#include "grpc_resilience/rpc/v1/status.pb.h"

namespace grpc_resilience::internal {
namespace {

// The wire format is that of the google.rpc messages; the types are our own,
// because a second registration of google.rpc ends a process that links googleapis.
template <typename Message>
void AddDetail(std::string_view type, const Message& detail,
               rpc::v1::Status* status) {
  rpc::v1::Any* any = status->add_details();
  any->set_type_url("type.googleapis.com/" + std::string(type));
  detail.SerializeToString(any->mutable_value());
}

}  // namespace

std::string MakeStatusDetails(int code, const std::string& message,
                              const std::string& reason,
                              const std::string& target, Duration retry_after) {
  rpc::v1::Status status;
  status.set_code(code);
  status.set_message(message);

  rpc::v1::ErrorInfo error;
  error.set_reason(reason);
  error.set_domain("grpc-resilience");
  (*error.mutable_metadata())["target"] = target;
  AddDetail("google.rpc.ErrorInfo", error, &status);

  rpc::v1::RetryInfo retry;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(retry_after);
  retry.mutable_retry_delay()->set_seconds(seconds.count());
  retry.mutable_retry_delay()->set_nanos(
      static_cast<int>((retry_after - seconds).count()));
  AddDetail("google.rpc.RetryInfo", retry, &status);

  return status.SerializeAsString();
}

}  // namespace grpc_resilience::internal

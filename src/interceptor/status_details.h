// The google.rpc.Status bytes that go with a rejected call, by which a caller
// tells our answer from the server's and learns when to come back.

#pragma once

#include <string>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

constexpr char kErrorInfoType[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfoType[] = "type.googleapis.com/google.rpc.RetryInfo";
/// ErrorInfo's domain of all that this library answers itself.
constexpr char kErrorDomain[] = "grpc-resilience";

/// This type is safe to use from several threads at once.
class RejectionDetails {
 public:
  /// Reason BREAKER_OPEN and domain "grpc-resilience" in google.rpc.ErrorInfo, the
  /// target in its metadata.
  explicit RejectionDetails(const std::string& target);

  /// Those, `code`, `message`, and `retry_after` in google.rpc.RetryInfo.
  std::string Make(int code, const std::string& message,
                   Duration retry_after) const;

 private:
  std::string error_info_;  // a Status with nothing else in it
};

}  // namespace grpc_resilience::internal

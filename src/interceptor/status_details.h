// The google.rpc.Status bytes that go with a rejected call, by which a caller
// tells our answer from the server's and learns when to come back.

#pragma once

#include <string>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// `reason` and domain "grpc-resilience" in google.rpc.ErrorInfo, `retry_after` in
/// google.rpc.RetryInfo, the target in ErrorInfo's metadata.
std::string MakeStatusDetails(int code, const std::string& message,
                              const std::string& reason,
                              const std::string& target, Duration retry_after);

}  // namespace grpc_resilience::internal

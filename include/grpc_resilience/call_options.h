// What one call does differently from its method's policy.
//
//   CallOptions options;
//   options.max_attempts = 1;                       // this once, no retry
//   SetCallOptions(options, &context);
//   stub->GetStock(&context, request, &response);
//
// Travels in the context's metadata up to the library's interceptor, which takes it
// out: on a protected channel it never reaches the wire.

#pragma once

#include <grpcpp/client_context.h>

#include <optional>

#include "absl/status/status.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// A value type. Unset: as the method's policy says.
struct CallOptions {
  /// RetryPolicy::max_attempts, or HedgingPolicy::max_hedged_attempts where the
  /// method is hedged. Range: ≥ 1.
  std::optional<int> max_attempts;
  /// RetryPolicy::per_attempt_timeout. Range: > 0.
  std::optional<Duration> per_attempt_timeout;
  /// MethodPolicy::timeout. Range: > 0.
  std::optional<Duration> timeout;
};

/// Before the call, once per context. INVALID_ARGUMENT, and nothing set, when an
/// option is out of range: one line for each, naming field, value and range.
absl::Status SetCallOptions(const CallOptions& options,
                            grpc::ClientContext* context);

}  // namespace grpc_resilience

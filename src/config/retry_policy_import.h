// A service config's retryPolicy and hedgingPolicy (gRFC A6).

#pragma once

#include <optional>

#include "config/json_place.h"
#include "grpc_resilience/hedging_policy.h"
#include "grpc_resilience/retry_policy.h"

namespace grpc_resilience::internal {

/// gRPC takes more as this many (gRFC A6).
constexpr int kMaxAttemptsOfGrpc = 5;
/// Each wait of gRPC C++ is its delay × U(1 − this, 1 + this), where gRFC A6
/// speaks of U(0, 1).
constexpr double kJitterOfGrpc = 0.2;

/// Faults and differences go to the place's report; after a fault the result
/// isn't to be used. Absent: no retries, as in gRPC.
RetryPolicy ImportRetryPolicy(const JsonPlace& place);
/// Likewise. Absent: empty. The methods that it is for are to be idempotent.
std::optional<HedgingPolicy> ImportHedgingPolicy(const JsonPlace& place);

}  // namespace grpc_resilience::internal

// The token bucket as a Markov chain that ends when it is empty.

#pragma once

#include <optional>

namespace grpc_resilience::internal {

/// Mean number of calls until a full bucket is empty, to the precision of a
/// double; infinite at failure rate 0. Empty: more steps than can be solved.
/// All arguments in the ranges of PlannedTokenBucket.
std::optional<double> MeanCallsToEmpty(int max_tokens, double token_ratio,
                                       double failure_rate);

}  // namespace grpc_resilience::internal

// What a caller has asked for this call alone, on its way from the caller's context
// to the interceptor: in metadata that the interceptor takes out.

#pragma once

#include <map>
#include <string>

#include "grpc_resilience/call_options.h"

namespace grpc_resilience::internal {

/// A value type.
struct CallOverride {
  CallOptions options;
  /// The inbound call is itself a retry.
  bool chain_stop = false;
  /// kWithoutFallbacksKey.
  bool without_fallbacks = false;

  bool empty() const {
    return !options.max_attempts && !options.per_attempt_timeout &&
           !options.timeout && !chain_stop && !without_fallbacks;
  }
};

using SentMetadata = std::multimap<std::string, std::string>;

inline constexpr char kCallOptionsKey[] = "grpc-resilience-call-options";
inline constexpr char kChainStopKey[] = "grpc-resilience-chain-stop";

/// "3,250000000,": the options in their order, durations in nanoseconds, unset ones
/// empty.
std::string ToText(const CallOptions& options);

/// Removes what SetCallOptions and Propagate have put there. What isn't of their
/// making reads as nothing.
CallOverride TakeOverride(SentMetadata* metadata);
/// The same, and leaves it there.
CallOverride PeekOverride(const SentMetadata& metadata);

}  // namespace grpc_resilience::internal

// The clients that are compared. All make up to four attempts with the same
// backoffs; only raw makes one.

#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "grpc_resilience/config.h"

namespace grpc_resilience::bench {

enum class ClientKind {
  kRaw,                 ///< gRPC with its retries off
  kGrpcRetry,           ///< gRPC's retryPolicy
  kGrpcRetryThrottled,  ///< gRPC's retryPolicy and retryThrottling
  kOurs,                ///< the defaults, but for OursConfig
};
inline constexpr ClientKind kClientKinds[] = {
    ClientKind::kRaw, ClientKind::kGrpcRetry, ClientKind::kGrpcRetryThrottled,
    ClientKind::kOurs};

/// "raw", "grpc_retry", "grpc_retry_throttled", "ours".
std::string_view ToString(ClientKind kind);
/// Empty when there is no such client.
std::optional<ClientKind> ParseClientKind(std::string_view name);

/// The one configuration of ours, for every row: the defaults, with as many
/// attempts as gRPC's policy and the methods declared idempotent.
Config OursConfig();

/// The service config of the gRPC clients; empty for the others.
std::string ServiceConfig(ClientKind kind);

/// A new channel with a connection of its own.
std::shared_ptr<grpc::Channel> MakeClient(ClientKind kind,
                                          const std::string& address);

}  // namespace grpc_resilience::bench

// What the channels of the demo have in common, so that the comparison is fair.

#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace demo {

/// A channel that lost its server tries to connect again after this time…
constexpr int kInitialReconnectBackoffMs = 100;
/// …and at least this often. gRPC's own values are 1 s and 120 s; a short demo
/// can't wait for them.
constexpr int kMaxReconnectBackoffMs = 250;

inline grpc::ChannelArguments MakeChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   kInitialReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kMaxReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectBackoffMs);
  // Each channel has a connection of its own, and goes straight to the backend
  // whatever proxy the environment names.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace demo

// Attaches the library to gRPC channels.
//
//   auto channel = grpc_resilience::CreateChannel(
//       resilience, "dns:///payments:443", grpc::SslCredentials({}));
//   auto stub = pay::Payments::NewStub(channel);     // every style of call works
//
// Where you make channels yourself, put our factory into your creator list. Place
// interceptors that see one logical call before it, and those that act per attempt
// (authentication, per-attempt tracing) after it:
//
//   creators.push_back(CreateInterceptorFactory(resilience, "payments:443"));
//
// and switch gRPC's own retries off (GRPC_ARG_ENABLE_RETRIES = 0), or attempts
// multiply.
//
// Two things to know. In the callback and reactor forms the request object must
// stay unchanged until the call is over, as the response object must. And gRPC
// starts its callback threads when the first retry of a process is made.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>
#include <vector>

#include "grpc_resilience/resilience.h"

namespace grpc_resilience {

using InterceptorFactories = std::vector<
    std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>;

/// A channel to `target` with every call protected. `target` is also the name
/// under which policies, breakers and metrics know it, as the literal string.
/// gRPC's own retries are off unless `args` sets GRPC_ARG_ENABLE_RETRIES (then
/// attempts multiply with those of the service config). `inner` are placed after
/// ours: they run for every attempt. Never null; a bad target gives gRPC's lame
/// channel. May be called from any thread.
std::shared_ptr<grpc::Channel> CreateChannel(
    const std::shared_ptr<Resilience>& resilience, const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments args = grpc::ChannelArguments(),
    InterceptorFactories inner = {});

/// Our factory, for a creator list of your own; one for each channel. `target`
/// names the target in policies, breakers and metrics: two channels with the same
/// name share a breaker.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
CreateInterceptorFactory(const std::shared_ptr<Resilience>& resilience,
                         const std::string& target);

/// A protected channel to a server in this process. `server` must outlive it.
std::shared_ptr<grpc::Channel> CreateInProcessChannel(
    const std::shared_ptr<Resilience>& resilience, grpc::Server* server,
    const std::string& target,
    grpc::ChannelArguments args = grpc::ChannelArguments(),
    InterceptorFactories inner = {});

}  // namespace grpc_resilience

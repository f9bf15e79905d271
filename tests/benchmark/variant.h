// The channels that are compared.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace grpc_resilience::bench {

enum class Variant {
  kPlainDefault,    ///< gRPC alone, default arguments: the peer of every row
  kPlainNoRetries,  ///< gRPC alone, its idle retry filter switched off
  kNoop,            ///< an interceptor that does nothing
  kOursPass,        ///< ours; a method that is never repeated
  kOursRetry,       ///< ours; a method that may be repeated
  kOursHijack,      ///< ours; the same with a per_attempt_timeout
  kNaiveHijack,     ///< the usual hand-written re-issue
};

/// "plain_default", "ours_pass", …; empty when there is no such variant.
std::optional<Variant> ParseVariant(std::string_view name);
std::string_view ToString(Variant variant);

/// A new channel of that kind; `args` are added to what the variant needs.
std::shared_ptr<grpc::Channel> MakeChannel(
    Variant variant, const std::string& address,
    grpc::ChannelArguments args = grpc::ChannelArguments());

}  // namespace grpc_resilience::bench

#include "benchmark/effect/client_kind.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience::bench {
namespace {

constexpr int kAttempts = 4;

constexpr char kRetryPolicy[] =
    R"("methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":4,)"
    R"("initialBackoff":"0.05s","maxBackoff":"1s","backoffMultiplier":2,)"
    R"("retryableStatusCodes":["UNAVAILABLE"]}}])";
// The numbers of our own throttle. Without a decimal point this gRPC reads a
// tokenRatio as thousandths.
constexpr char kThrottling[] =
    R"("retryThrottling":{"maxTokens":16,"tokenRatio":2.0})";

}  // namespace

std::string_view ToString(ClientKind kind) {
  switch (kind) {
    case ClientKind::kRaw:
      return "raw";
    case ClientKind::kGrpcRetry:
      return "grpc_retry";
    case ClientKind::kGrpcRetryThrottled:
      return "grpc_retry_throttled";
    case ClientKind::kOurs:
      return "ours";
  }
  return "unknown";
}

std::optional<ClientKind> ParseClientKind(std::string_view name) {
  for (const ClientKind kind : kClientKinds) {
    if (ToString(kind) == name) return kind;
  }
  return std::nullopt;
}

Config OursConfig() {
  Config config;
  RetryPolicy& retry = config.DefaultMethod().retry;
  retry.max_attempts = kAttempts;
  retry.idempotency = Idempotency::kIdempotent;
  return config;
}

std::string ServiceConfig(ClientKind kind) {
  switch (kind) {
    case ClientKind::kGrpcRetry:
      return std::string("{") + kRetryPolicy + "}";
    case ClientKind::kGrpcRetryThrottled:
      return std::string("{") + kRetryPolicy + "," + kThrottling + "}";
    default:
      return "";
  }
}

std::shared_ptr<grpc::Channel> MakeClient(ClientKind kind,
                                          const std::string& address) {
  grpc::ChannelArguments args = OwnConnection();
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto credentials = grpc::InsecureChannelCredentials();
  if (kind == ClientKind::kOurs) {
    auto resilience = Resilience::Create(OursConfig());
    if (!resilience.ok()) Malfunction(resilience.status().ToString());
    return CreateChannel(*resilience, address, credentials, args);
  }
  if (kind == ClientKind::kRaw) {
    args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  } else {
    args.SetServiceConfigJSON(ServiceConfig(kind));
  }
  return grpc::CreateCustomChannel(address, credentials, args);
}

}  // namespace grpc_resilience::bench

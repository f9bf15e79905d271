#include "benchmark/variant.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "benchmark/naive_hijack.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience::bench {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;

// Long enough that it is never reached.
constexpr std::chrono::minutes kPerAttemptTimeout(5);

constexpr std::array<std::pair<std::string_view, Variant>, 7> kNames = {{
    {"plain_default", Variant::kPlainDefault},
    {"plain_noretries", Variant::kPlainNoRetries},
    {"noop", Variant::kNoop},
    {"ours_pass", Variant::kOursPass},
    {"ours_retry", Variant::kOursRetry},
    {"ours_hijack", Variant::kOursHijack},
    {"naive_hijack", Variant::kNaiveHijack},
}};

class Noop final : public grpc::experimental::Interceptor {
 public:
  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    methods->Proceed();
  }
};

class NoopFactory final : public ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new Noop;
  }
};

std::shared_ptr<grpc::Channel> MakeIntercepted(
    std::unique_ptr<ClientInterceptorFactoryInterface> factory,
    const std::string& address, const grpc::ChannelArguments& args) {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::move(factory));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, grpc::InsecureChannelCredentials(), args, std::move(factories));
}

std::shared_ptr<grpc::Channel> MakeOurs(Variant variant,
                                        const std::string& address,
                                        const grpc::ChannelArguments& args) {
  Config config;
  if (variant == Variant::kOursHijack) {
    config.DefaultMethod().retry.per_attempt_timeout = kPerAttemptTimeout;
  }
  auto resilience = Resilience::Create(std::move(config));
  if (!resilience.ok()) Malfunction(resilience.status().ToString());
  return CreateChannel(*resilience, address, grpc::InsecureChannelCredentials(),
                       args);
}

}  // namespace

std::optional<Variant> ParseVariant(std::string_view name) {
  for (const auto& [known, variant] : kNames) {
    if (known == name) return variant;
  }
  return std::nullopt;
}

std::string_view ToString(Variant variant) {
  for (const auto& [name, known] : kNames) {
    if (known == variant) return name;
  }
  return "unknown";
}

std::shared_ptr<grpc::Channel> MakeChannel(Variant variant,
                                           const std::string& address,
                                           grpc::ChannelArguments args) {
  switch (variant) {
    case Variant::kOursPass:
    case Variant::kOursRetry:
    case Variant::kOursHijack:
      return MakeOurs(variant, address, args);
    case Variant::kPlainDefault:
      return grpc::CreateCustomChannel(
          address, grpc::InsecureChannelCredentials(), args);
    default:
      break;
  }
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  switch (variant) {
    case Variant::kNoop:
      return MakeIntercepted(std::make_unique<NoopFactory>(), address, args);
    case Variant::kNaiveHijack:
      return MakeIntercepted(std::make_unique<NaiveHijackFactory>(), address,
                             args);
    default:
      return grpc::CreateCustomChannel(
          address, grpc::InsecureChannelCredentials(), args);
  }
}

}  // namespace grpc_resilience::bench

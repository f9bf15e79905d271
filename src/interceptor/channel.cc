#include "grpc_resilience/channel.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/create_channel.h>

#include <string_view>
#include <utility>

#include "interceptor/factory.h"

namespace grpc_resilience {
namespace {

InterceptorFactories WithOurs(const std::shared_ptr<Resilience>& resilience,
                              const std::string& target,
                              InterceptorFactories inner) {
  InterceptorFactories factories;
  factories.reserve(inner.size() + 1);
  factories.push_back(CreateInterceptorFactory(resilience, target));
  for (auto& factory : inner) factories.push_back(std::move(factory));
  return factories;
}

// gRPC's own retries would multiply with ours.
void SwitchCoreRetriesOff(grpc::ChannelArguments* args) {
  const grpc_channel_args given = args->c_channel_args();
  for (std::size_t i = 0; i < given.num_args; ++i) {
    if (std::string_view(given.args[i].key) == GRPC_ARG_ENABLE_RETRIES) return;
  }
  args->SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
}

}  // namespace

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
CreateInterceptorFactory(const std::shared_ptr<Resilience>& resilience,
                         const std::string& target) {
  return std::make_unique<internal::ResilienceInterceptorFactory>(resilience,
                                                                  target);
}

std::shared_ptr<grpc::Channel> CreateChannel(
    const std::shared_ptr<Resilience>& resilience, const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments args, InterceptorFactories inner) {
  SwitchCoreRetriesOff(&args);
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, credentials, args,
      WithOurs(resilience, target, std::move(inner)));
}

std::shared_ptr<grpc::Channel> CreateInProcessChannel(
    const std::shared_ptr<Resilience>& resilience, grpc::Server* server,
    const std::string& target, grpc::ChannelArguments args,
    InterceptorFactories inner) {
  SwitchCoreRetriesOff(&args);
  return server->experimental().InProcessChannelWithInterceptors(
      args, WithOurs(resilience, target, std::move(inner)));
}

}  // namespace grpc_resilience

#include "interceptor/factory.h"

#include <utility>

#include "interceptor/call_override.h"
#include "interceptor/inner_call_scope.h"
#include "interceptor/stream_call.h"
#include "interceptor/unary_call.h"

namespace grpc_resilience::internal {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;

// Lets a call through as if it weren't there.
class Transparent final : public grpc::experimental::Interceptor {
 public:
  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      TakeOverride(methods->GetSendInitialMetadata());  // not for the wire
    }
    methods->Proceed();
  }
};

bool IsOurs(const ClientInterceptorFactoryInterface& factory) {
  return dynamic_cast<const ResilienceInterceptorFactory*>(&factory) != nullptr;
}

}  // namespace

ResilienceInterceptorFactory::ResilienceInterceptorFactory(
    std::shared_ptr<Resilience> resilience, std::string target)
    : plans_(std::move(resilience), std::move(target)) {}

const std::optional<ContextAccess::Place>&
ResilienceInterceptorFactory::PlaceIn(grpc::ChannelInterface* channel) {
  absl::call_once(placed_, [&] {
    plans_.recovery().SetChannel(channel);
    place_ = ContextAccess::FindFactory(channel, this, &IsOurs);
  });
  return place_;
}

grpc::experimental::Interceptor*
ResilienceInterceptorFactory::CreateClientInterceptor(ClientRpcInfo* info) {
  if (InnerCallScope::Active()) return new Transparent;
  const auto& place = PlaceIn(info->channel());
  if (place.has_value() && place->shadowed) return new Transparent;
  std::shared_ptr<const CallPlan> plan = plans_.Get(info->method());
  if (plan->policy.bypass) return new Transparent;
  if (info->type() != ClientRpcInfo::Type::UNARY) {
    return new StreamCall(std::move(plan), info, place);
  }
  return new UnaryCall(std::move(plan), info, place);
}

}  // namespace grpc_resilience::internal

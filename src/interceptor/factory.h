// Makes one interceptor per call of a channel.

#pragma once

#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/call_once.h"
#include "interceptor/call_plan.h"
#include "interceptor/context_access.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. It belongs to one
/// channel, and never makes a null interceptor: gRPC counts positions wrongly
/// beside one.
class ResilienceInterceptorFactory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  ResilienceInterceptorFactory(std::shared_ptr<Resilience> resilience,
                               std::string target);

  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;

 private:
  const std::optional<ContextAccess::Place>& PlaceIn(
      grpc::ChannelInterface* channel);

  CallPlanCache plans_;
  absl::once_flag placed_;
  std::optional<ContextAccess::Place> place_;
};

}  // namespace grpc_resilience::internal

// The peer of the hijack rows: an interceptor that issues the call again the
// way it is usually written by hand, with a generic stub and std::function. It
// does less than a correct one must: no cancellation, credentials, authority or
// parent.

#pragma once

#include <grpcpp/support/client_interceptor.h>

namespace grpc_resilience::bench {

class NaiveHijackFactory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;
};

}  // namespace grpc_resilience::bench

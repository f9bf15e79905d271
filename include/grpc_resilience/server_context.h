// From an inbound call to the calls made to serve it.
//
//   grpc::Status Handler::Buy(grpc::ServerContext* inbound, …) {
//     grpc::ClientContext outbound;
//     Propagate(*inbound, &outbound, {{"x-request-id"}});
//     return payments_->Charge(&outbound, …);
//
// grpc::ClientContext::FromServerContext hands deadline and cancellation on as
// well; it knows nothing of the retry generation and of metadata.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <vector>

namespace grpc_resilience {

/// A value type.
struct PropagationChoice {
  /// Keys of inbound metadata that the outbound call carries too, with all their
  /// values. Default empty.
  std::vector<std::string> metadata;
  /// The outbound call ends at the inbound one's deadline, unless its own is
  /// earlier. Default: true.
  bool deadline = true;
  /// The outbound call is cancelled with the inbound one; `inbound` must then
  /// outlive it. Default: true.
  bool cancellation = true;
  /// The outbound call isn't retried when the inbound one is itself a retry
  /// (RetryPolicy::chain_stop). Default: true.
  bool chain_stop = true;
};

/// Before the outbound call, once per context; what the context has already stays.
/// May be called on any thread while `inbound` is being served.
void Propagate(const grpc::ServerContextBase& inbound,
               grpc::ClientContext* outbound,
               const PropagationChoice& choice = {});

}  // namespace grpc_resilience

#include "grpc_resilience/server_context.h"

#include <chrono>

#include "interceptor/attempt.h"
#include "interceptor/call_override.h"
#include "interceptor/context_access.h"

namespace grpc_resilience {
namespace {

std::string ToString(const grpc::string_ref& text) {
  return std::string(text.data(), text.size());
}

}  // namespace

void Propagate(const grpc::ServerContextBase& inbound,
               grpc::ClientContext* outbound, const PropagationChoice& choice) {
  if (choice.deadline && inbound.deadline() < outbound->deadline()) {
    outbound->set_deadline(inbound.raw_deadline());
  }
  if (choice.cancellation) {
    internal::ContextAccess::CancelWith(inbound, outbound);
  }
  const auto& metadata = inbound.client_metadata();
  if (choice.chain_stop && metadata.count(internal::kPreviousAttemptsKey) > 0) {
    outbound->AddMetadata(internal::kChainStopKey, "1");
  }
  for (const std::string& key : choice.metadata) {
    const auto [begin, end] = metadata.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      outbound->AddMetadata(ToString(it->first), ToString(it->second));
    }
  }
}

}  // namespace grpc_resilience

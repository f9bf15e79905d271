// How one call is made in each style; call_styles.h puts them behind one function.

#pragma once

#include <functional>
#include <memory>

#include "support/call_styles.h"

namespace grpc_resilience::test {

/// The styles that block the calling thread; the others end in a function.
bool Blocks(CallStyle style);

/// For styles that block. `*tag_ok` becomes false when a tag came without ok.
grpc::Status CallBlocking(CallStyle style,
                          const std::shared_ptr<grpc::Channel>& channel,
                          EchoMethod method, grpc::ClientContext* context,
                          const EchoRequest& request, EchoResponse* response,
                          bool* tag_ok);

/// For the others. Everything must live until `done` is called, where the caller
/// may delete it.
void StartCallback(CallStyle style,
                   const std::shared_ptr<grpc::Channel>& channel,
                   EchoMethod method, grpc::ClientContext* context,
                   const EchoRequest& request, EchoResponse* response,
                   std::function<void(const grpc::Status&)> done);

}  // namespace grpc_resilience::test

// The middle of a chain: the call that it makes is a child of the one that it serves.

#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "support/call_styles.h"
#include "support/middle_server.h"

namespace grpc_resilience::test {

/// Passes one call on, in a given style.
class OnwardServer {
 public:
  OnwardServer(CallStyle style, std::shared_ptr<grpc::Channel> onward)
      : server_([this, style, onward = std::move(onward)](
                    grpc::ServerContext* context, const EchoRequest& request,
                    EchoResponse* response) {
          const auto child = grpc::ClientContext::FromServerContext(*context);
          CallResult result = Call(style, onward, EchoMethod::kIdempotent,
                                   child.get(), request, response);
          const grpc::Status status = result.status;
          ended_at_ = std::chrono::steady_clock::now();
          outbound_.set_value(std::move(result));
          return status;
        }) {}

  const std::shared_ptr<grpc::Channel>& channel() const {
    return server_.channel();
  }
  /// How the onward call ended; once.
  CallResult TakeOutbound() { return outbound_.get_future().get(); }
  std::chrono::steady_clock::time_point ended_at() const { return ended_at_; }

 private:
  std::promise<CallResult> outbound_;
  std::chrono::steady_clock::time_point ended_at_;
  MiddleServer server_;  // goes first: it uses the others
};

}  // namespace grpc_resilience::test

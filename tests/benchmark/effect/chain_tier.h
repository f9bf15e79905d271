// A server in the middle of a chain: passes each call on, with its deadline and
// cancellation.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "benchmark/bench.grpc.pb.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class ChainTier {
 public:
  /// Listens on a free port of the loopback interface. Ends the process when it
  /// can't.
  explicit ChainTier(const std::shared_ptr<grpc::Channel>& onward);
  ~ChainTier();

  const std::string& address() const { return address_; }

 private:
  class Service final : public Bench::CallbackService {
   public:
    explicit Service(const std::shared_ptr<grpc::Channel>& onward)
        : onward_(Bench::NewStub(onward)) {}
    grpc::ServerUnaryReactor* Retried(grpc::CallbackServerContext* context,
                                      const Payload* request,
                                      Payload* response) override;

   private:
    const std::unique_ptr<Bench::Stub> onward_;
  };

  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace grpc_resilience::bench

// The server that every benchmark calls: answers at once with what it got.

#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "benchmark/bench.grpc.pb.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class EchoServer {
 public:
  /// Listens on a free port of the loopback interface, over TCP. Ends the
  /// process when it can't.
  EchoServer();
  ~EchoServer();

  /// "127.0.0.1:12345".
  const std::string& address() const { return address_; }

 private:
  class Service final : public Bench::CallbackService {
   public:
    grpc::ServerUnaryReactor* Watched(grpc::CallbackServerContext* context,
                                      const Payload* request,
                                      Payload* response) override;
    grpc::ServerUnaryReactor* Retried(grpc::CallbackServerContext* context,
                                      const Payload* request,
                                      Payload* response) override;
  };

  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace grpc_resilience::bench

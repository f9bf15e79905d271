// The server of the stream benchmark.

#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "benchmark/bench.grpc.pb.h"

namespace grpc_resilience::bench {

/// This type is safe to use from several threads at once.
class StreamServer {
 public:
  /// Listens on a free port of the loopback interface, over TCP. Ends the process
  /// when it can't.
  StreamServer();
  ~StreamServer();

  const std::string& address() const { return address_; }

 private:
  class Service final : public Streams::Service {
   public:
    grpc::Status Download(grpc::ServerContext* context, const Order* order,
                          grpc::ServerWriter<Payload>* writer) override;
    grpc::Status Upload(grpc::ServerContext* context,
                        grpc::ServerReader<Payload>* reader,
                        Payload* response) override;
    grpc::Status PingPong(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<Payload, Payload>* stream) override;
  };

  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace grpc_resilience::bench

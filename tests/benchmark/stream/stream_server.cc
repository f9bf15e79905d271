#include "benchmark/stream/stream_server.h"

#include <grpcpp/server_builder.h>

#include <cstdlib>
#include <iostream>

namespace grpc_resilience::bench {

grpc::Status StreamServer::Service::Download(
    grpc::ServerContext* /*context*/, const Order* order,
    grpc::ServerWriter<Payload>* writer) {
  Payload payload;
  payload.set_data(std::string(static_cast<std::size_t>(order->bytes()), 'd'));
  for (int i = 0; i < order->count(); ++i) {
    if (!writer->Write(payload)) break;
  }
  return grpc::Status::OK;
}

grpc::Status StreamServer::Service::Upload(grpc::ServerContext* /*context*/,
                                           grpc::ServerReader<Payload>* reader,
                                           Payload* /*response*/) {
  Payload payload;
  while (reader->Read(&payload)) {
  }
  return grpc::Status::OK;
}

grpc::Status StreamServer::Service::PingPong(
    grpc::ServerContext* /*context*/,
    grpc::ServerReaderWriter<Payload, Payload>* stream) {
  Payload payload;
  while (stream->Read(&payload) && stream->Write(payload)) {
  }
  return grpc::Status::OK;
}

StreamServer::StreamServer() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    std::cerr << "can't listen\n";
    std::exit(1);
  }
  address_ = "127.0.0.1:" + std::to_string(port);
}

StreamServer::~StreamServer() { server_->Shutdown(); }

}  // namespace grpc_resilience::bench

// The server's side of test_service.proto: unary methods by gRPC's callback API
// (headers first, thousands of calls waiting at once), streams by the synchronous
// one, where a script may simply sleep.

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "support/echo_hit.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

using EchoBase =
    Echo::WithCallbackMethod_Unary<Echo::WithCallbackMethod_Idempotent<
        Echo::WithCallbackMethod_ReadOnly<Echo::Service>>>;

class EchoService : public EchoBase {
 public:
  EchoService(HitLog* log, const FaultSwitch* faults)
      : log_(log), faults_(faults) {}

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context,
                                  const EchoRequest* request,
                                  EchoResponse* response) override;
  grpc::ServerUnaryReactor* Idempotent(grpc::CallbackServerContext* context,
                                       const EchoRequest* request,
                                       EchoResponse* response) override;
  grpc::ServerUnaryReactor* ReadOnly(grpc::CallbackServerContext* context,
                                     const EchoRequest* request,
                                     EchoResponse* response) override;
  grpc::Status ServerStream(grpc::ServerContext* context,
                            const EchoRequest* request,
                            grpc::ServerWriter<EchoResponse>* writer) override;
  grpc::Status ClientStream(grpc::ServerContext* context,
                            grpc::ServerReader<EchoRequest>* reader,
                            EchoResponse* response) override;
  grpc::Status BidiStream(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<EchoResponse, EchoRequest>* stream) override;

 private:
  HitLog* const log_;
  const FaultSwitch* const faults_;
};

class ControlService : public Control::Service {
 public:
  /// `on_shutdown` runs on a server thread and must not wait for the server.
  ControlService(HitLog* log, FaultSwitch* faults,
                 std::function<void()> on_shutdown)
      : log_(log), faults_(faults), on_shutdown_(std::move(on_shutdown)) {}

  grpc::Status Hits(grpc::ServerContext* context, const HitsRequest* request,
                    HitsResponse* response) override;
  grpc::Status Reset(grpc::ServerContext* context, const ResetRequest* request,
                     ResetResponse* response) override;
  grpc::Status SetGlobalFault(grpc::ServerContext* context,
                              const GlobalFault* request,
                              SetGlobalFaultResponse* response) override;
  grpc::Status Shutdown(grpc::ServerContext* context,
                        const ShutdownRequest* request,
                        ShutdownResponse* response) override;

 private:
  HitLog* const log_;
  FaultSwitch* const faults_;
  const std::function<void()> on_shutdown_;
};

}  // namespace grpc_resilience::test

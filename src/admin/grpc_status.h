// absl::Status for the wire.

#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace grpc_resilience::internal {

inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()));
}

}  // namespace grpc_resilience::internal

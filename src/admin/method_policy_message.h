// A method's policy as a message. Functions (predicates) are left out.

#pragma once

#include "grpc_resilience/admin/v1/policy.pb.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

namespace pb = admin::v1;

pb::MethodPolicy ToProto(const MethodPolicy& policy);

}  // namespace grpc_resilience::internal

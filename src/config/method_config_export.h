// A MethodPolicy as a service config's methodConfig.

#pragma once

#include <string>
#include <vector>

#include "grpc_resilience/config.h"
#include "grpc_resilience/config/v1/service_config.pb.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience::internal {

using Differences = std::vector<ServiceConfigDifference>;

/// Everything but the name. `place` ("method \"/a.B/C\"") begins the path of each
/// difference.
void ExportMethodPolicy(const MethodPolicy& policy, const std::string& place,
                        config::v1::MethodConfig* out,
                        Differences* differences);

}  // namespace grpc_resilience::internal

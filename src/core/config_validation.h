// Finds everything that is wrong with a Config, in one go.

#pragma once

#include "absl/status/status.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

/// OK, or INVALID_ARGUMENT with one line for every fault:
///   method "/a.B/C": retry.max_attempts = 0: must be >= 1
absl::Status ValidateConfig(const Config& config);

}  // namespace grpc_resilience::internal

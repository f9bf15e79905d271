// The value of the grpc-timeout header.

#pragma once

#include <string>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// "250000u": at most eight digits and a unit (gRPC over HTTP/2, "Timeout"), rounded
/// up to the unit. A time of zero or less reads "1u"; one beyond three years, three
/// years.
std::string GrpcTimeoutText(Duration timeout);

}  // namespace grpc_resilience::internal

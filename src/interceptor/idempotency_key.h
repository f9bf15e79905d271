// The value of an idempotency key header: a random UUID (RFC 9562, version 4).

#pragma once

#include <string>

#include "grpc_resilience/random.h"

namespace grpc_resilience::internal {

std::string MakeIdempotencyKey(Random& random);

}  // namespace grpc_resilience::internal

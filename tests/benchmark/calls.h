// Makes calls in the styles that are compared.

#pragma once

#include <optional>
#include <string_view>

#include "benchmark/bench.grpc.pb.h"
#include "benchmark/variant.h"

namespace grpc_resilience::bench {

enum class Style { kSync, kCompletionQueue, kCallback };

/// "sync", "cq", "cb"; empty when there is no such style.
std::optional<Style> ParseStyle(std::string_view name);

/// Which method of the service is called.
enum class Method { kWatched, kRetried };

/// The method that shows what the variant does.
Method MethodOf(Variant variant);

/// What every benchmark sends.
Payload MakeRequest();

/// Makes `count` calls one after the other and returns when the last is over. A
/// call that doesn't end as `expected` ends the process.
void RunCalls(Bench::Stub& stub, Method method, Style style, int count,
              grpc::StatusCode expected = grpc::StatusCode::OK);

}  // namespace grpc_resilience::bench

// Makes calls in the styles that are compared.

#pragma once

#include <chrono>
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

/// What calls are made. A value type.
struct CallKind {
  Method method = Method::kRetried;
  Style style = Style::kSync;
  /// Set: each call has a deadline that far away.
  std::optional<std::chrono::minutes> time_limit;
  grpc::StatusCode expected = grpc::StatusCode::OK;
};

/// Makes `count` calls one after the other and returns when the last is over. A
/// call that doesn't end as expected ends the process.
void RunCalls(Bench::Stub& stub, const CallKind& kind, int count);

}  // namespace grpc_resilience::bench

// A call through a circuit breaker, for code without gRPC.
//
//   absl::StatusOr<Row> row = GuardedCall(breaker, [&] { return db.Read(key); });
//
//   std::optional<Reply> reply = GuardedCall(             // empty: rejected
//       breaker, [&] { return http.Get(url); },
//       [](const Reply& r) { return r.code < 500 ? Outcome::kSuccess
//                                                : Outcome::kFailure; });

#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience {
namespace internal {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace internal

/// Runs `call` on this thread when the breaker admits it and counts what `judge`
/// says of its result; empty when it is rejected. What `call` throws counts as a
/// failure and goes on to the caller; what `judge` throws counts as nothing and
/// goes on as well. Safe to use from several threads at once.
template <typename Call, typename Judge>
auto GuardedCall(CircuitBreaker& breaker, Call&& call, Judge&& judge)
    -> std::optional<std::invoke_result_t<Call>> {
  std::optional<Permit> permit = breaker.TryAcquire();
  if (!permit) return std::nullopt;
  std::optional<std::invoke_result_t<Call>> result;
  try {
    result.emplace(std::forward<Call>(call)());
  } catch (...) {
    permit->Record(Outcome::kFailure, StatusCode::UNKNOWN, "exception");
    throw;
  }
  permit->Record(std::forward<Judge>(judge)(std::as_const(*result)));
  return result;
}

/// For a `call` that returns absl::Status or absl::StatusOr: judged by its code as
/// an attempt would be (outcome.h); UNAVAILABLE when it is rejected. CANCELLED
/// counts as nothing.
template <typename Call>
auto GuardedCall(CircuitBreaker& breaker, Call&& call)
    -> std::invoke_result_t<Call> {
  std::optional<Permit> permit = breaker.TryAcquire();
  if (!permit) return absl::UnavailableError("circuit breaker is open");
  try {
    auto result = std::forward<Call>(call)();
    const absl::Status& status = internal::StatusOf(result);
    AttemptResult judged;
    judged.code = static_cast<StatusCode>(status.code());
    judged.cancelled_by_caller = judged.code == StatusCode::CANCELLED;
    const Classification verdict = Classify(judged);
    if (verdict.outcome == Outcome::kIgnored) {
      permit->Ignore(verdict.cause);
    } else {
      permit->Record(verdict.outcome, judged.code,
                     {status.message().data(), status.message().size()});
    }
    return result;
  } catch (...) {
    permit->Record(Outcome::kFailure, StatusCode::UNKNOWN, "exception");
    throw;
  }
}

}  // namespace grpc_resilience

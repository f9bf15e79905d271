// Settings of the retries of one method.
//
//   RetryPolicy& retry = config.Method("/shop.Inventory/GetStock").retry;
//   retry.max_attempts = 4;
//   retry.per_attempt_timeout = std::chrono::milliseconds(200);
//
// Out of the box only methods known to be idempotent are retried.

#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "grpc_resilience/backoff.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// May a request be sent twice?
enum class Idempotency {
  /// What `option idempotency_level` in the .proto says: IDEMPOTENT and
  /// NO_SIDE_EFFECTS are idempotent, everything else isn't.
  kFromProto,
  kIdempotent,
  kNonIdempotent,
};

/// A value type. Validated by Resilience::Create, which names each bad field.
struct RetryPolicy {
  /// Attempts in all, the first one included; honoured as set. 1: no retry.
  /// Range: ≥ 1. Default: 3.
  int max_attempts = 3;

  /// Waits between attempts.
  BackoffPolicy backoff;

  /// Limit of each attempt. Range: > 0. Default unset: an attempt may take all
  /// that is left of the call's deadline.
  std::optional<Duration> per_attempt_timeout;

  /// Codes that are retried. Default unset: UNAVAILABLE and DEADLINE_EXCEEDED
  /// (of an attempt, never of the call) for idempotent methods, none for others.
  /// Set: for idempotent methods these; for others only UNAVAILABLE and
  /// RESOURCE_EXHAUSTED of these, because any other code may come after the
  /// request took effect. OK and CANCELLED can't be listed. A policy for one
  /// method that isn't declared idempotent (kIdempotent or a key header) can list
  /// nothing but those two.
  std::optional<std::set<grpc::StatusCode>> retryable_status_codes;

  /// Default: kFromProto.
  Idempotency idempotency = Idempotency::kFromProto;

  /// Name of a request header that carries one random UUID per call, the same on
  /// every attempt, by which the server recognises a repetition; makes the method
  /// idempotent. A value that the caller has set itself is kept. Range: a gRPC
  /// header name (lower case, not "grpc-…", not "-bin"). Default unset: none.
  std::optional<std::string> idempotency_key_header;

  /// True: a call made while serving an inbound call that is itself a retry is not
  /// retried, so that the tiers of a chain don't multiply their attempts. Known
  /// only for contexts that went through Propagate (server_context.h).
  /// Default: true.
  bool chain_stop = true;

  /// A retry is only waited for when at least this much time is left for the
  /// attempt after the wait. Range: ≥ 0. Default: 5 ms.
  Duration min_attempt_time = std::chrono::milliseconds(5);
  /// Kept back from the deadline of every attempt but a call's only one, so that
  /// the answer can still be handed over. Range: ≥ 0. Default: 0.
  Duration reserve{0};
};

}  // namespace grpc_resilience

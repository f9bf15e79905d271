// Settings of the hedging of one method: when no answer has come for a while,
// another attempt is made beside the first, and the first good answer wins.
//
//   HedgingPolicy& hedging =
//       config.Method("/shop.Inventory/GetStock").hedging.emplace();
//   hedging.delay_quantile = 0.95;     // after the time that 95 % of them take
//
// For methods known to be idempotent only (RetryPolicy::idempotency); calls of any
// other method are retried as RetryPolicy says. Every attempt asks the breaker, and
// every one but the first the retry throttle. When one wins, the others are
// cancelled, which counts neither as success nor as failure.

#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <chrono>
#include <optional>
#include <set>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// gRFC A6 `hedgingPolicy`, and more. A value type. Validated by
/// Resilience::Create, which names each bad field.
struct HedgingPolicy {
  /// Attempts in all, the first one included; honoured as set. Range: ≥ 2.
  /// Default: 2.
  int max_hedged_attempts = 2;

  /// From the start of one attempt to that of the next, while no answer has come.
  /// An attempt that fails with one of non_fatal_status_codes has the next one
  /// begin at once, or after the server's pushback. Range: ≥ 0; 0: all at once.
  /// Default: 100 ms.
  Duration hedging_delay = std::chrono::milliseconds(100);

  /// Set: the delay is the time within which this share of the method's calls on
  /// the channel was answered by the first attempt, as far as is known of the last
  /// few thousand; until there are delay_minimum_calls of them, hedging_delay.
  /// About 1 − delay_quantile of the calls then make a second attempt.
  /// Range: (0, 1). Default unset: hedging_delay.
  std::optional<double> delay_quantile;
  /// Range: [1, 1000]. Default: 100.
  int delay_minimum_calls = 100;

  /// After any other code of an attempt the call ends with it. OK and CANCELLED
  /// can't be listed; empty: every failure ends the call (as in A6 by default).
  /// Default: UNAVAILABLE, and DEADLINE_EXCEEDED of an attempt.
  std::set<grpc::StatusCode> non_fatal_status_codes = {
      grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED};
};

}  // namespace grpc_resilience

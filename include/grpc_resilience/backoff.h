// How long to wait before attempt 2, 3, …
//
//   BackoffPolicy policy;                    // 50 ms, ×2, up to 1 s, full jitter
//   Backoff backoff(policy);
//   Duration wait = backoff.Next(Random::Real());   // before attempt 2
//
// Rule: gRFC A6, "Exponential Backoff"; jitter kinds after "Exponential Backoff
// And Jitter" (AWS Architecture Blog).

#pragma once

#include <chrono>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/random.h"

namespace grpc_resilience {

/// How chance changes a computed delay d (never above max_backoff, never below
/// zero, whatever the kind).
enum class Jitter {
  kNone,          ///< d
  kFull,          ///< uniform in [0, d]
  kEqual,         ///< uniform in [d/2, d]
  kDecorrelated,  ///< uniform in [initial_backoff, 3 × the previous delay]
  kRatio,  ///< uniform in [d × (1 − jitter_ratio), d × (1 + jitter_ratio)]
};

/// A value type; see RetryPolicy for where it is used.
struct BackoffPolicy {
  /// Delay before attempt 2. Range: > 0. Default: 50 ms.
  Duration initial_backoff = std::chrono::milliseconds(50);
  /// No delay is longer, jitter included. Range: ≥ initial_backoff. Default: 1 s.
  Duration max_backoff = std::chrono::seconds(1);
  /// Growth from one delay to the next. Range: [1, 1000]. Default: 2.
  double backoff_multiplier = 2.0;
  /// Default: kFull.
  Jitter jitter = Jitter::kFull;
  /// Only for Jitter::kRatio. Range: [0, 10]; above 1 the lower end is 0.
  /// Default: 0.2.
  double jitter_ratio = 0.2;
};

/// min(initial_backoff × backoff_multiplier^(retry − 1), max_backoff) without
/// jitter, for retry ≥ 1. Saturates: exact at any retry up to INT_MAX.
Duration UnjitteredBackoff(const BackoffPolicy& policy, int retry);

/// The delays of one call, in order. Not safe for use from several threads at
/// once. Copies continue from the same place.
class Backoff {
 public:
  explicit Backoff(const BackoffPolicy& policy) : policy_(&policy) {}

  /// The wait before the next attempt. The policy must still be alive.
  Duration Next(Random& random);

  /// Starts again at initial_backoff (gRFC A6: after a server pushback).
  void Restart();

 private:
  const BackoffPolicy* policy_;
  int retry_ = 0;
  Duration previous_{0};
};

}  // namespace grpc_resilience

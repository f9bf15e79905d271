// What the library does to notice that a target is back while its breaker is open.
// Part of BreakerPolicy; only the gRPC adapter acts on it.
//
//   auto& recovery = config.Target("payments:443").breaker.recovery;
//   recovery.background_probe = BackgroundProbe();     // grpc.health.v1
//
// While a breaker is open a thread of the library polls its channel, asks gRPC to
// connect every 125 ms, and makes the breaker ready for a probe the moment the
// channel is READY. Until then no call is spent on a probe. In-process channels and
// channels behind a wrapper can't be watched; their breakers go by time alone.

#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// A call that the library makes itself instead of spending a caller's. It must be
/// harmless to repeat. A value type.
struct BackgroundProbe {
  /// "/pkg.Service/Method". The health check counts as a success when it answers
  /// SERVING; any other method when it answers OK. Health checks prove that the
  /// process answers, not that its handlers work. Default: the health check.
  std::string method = "/grpc.health.v1.Health/Check";
  /// The serialised request. Default empty: for the health check, the server as a
  /// whole.
  std::string request;
  /// Limit of one probe; a long one lets a stopped server's late answer count.
  /// Range: > 0. Default: 5 s.
  Duration timeout = std::chrono::seconds(5);
};

/// A value type.
struct RecoveryPolicy {
  /// False: gRPC connects at its own pace, up to minutes apart, and the breaker
  /// goes by time alone. Default: true.
  bool watch_channel = true;
  /// Set: probes are calls of the library's own, one at a time, every 125 ms while
  /// the channel is READY, and callers are rejected until they have closed the
  /// breaker. Needs watch_channel. Default unset: callers' calls are the probes.
  std::optional<BackgroundProbe> background_probe;
};

}  // namespace grpc_resilience

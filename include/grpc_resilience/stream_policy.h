// Settings of the streams of one method, beside its RetryPolicy.
//
//   MethodPolicy& policy = config.Method("/shop.Inventory/Watch");
//   policy.retry.idempotency = Idempotency::kIdempotent;
//   policy.stream.replay_bytes = 1024 * 1024;
//
// A stream is retried until its caller has seen something of an attempt: a message,
// or initial metadata that it waited for. Until then what it has sent is kept, to be
// sent again.

#pragma once

#include <chrono>
#include <cstdint>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// A value type. Validated by Resilience::Create, which names each bad field.
struct StreamPolicy {
  /// Bytes that one stream keeps to send again: the serialized messages, and 256
  /// for each of them. One that sends more before its first answer isn't retried
  /// any more (REPLAY_BUFFER_FULL). Range: [0, 2^30]. Default: 256 KiB.
  int replay_bytes = 256 * 1024;

  /// A caller that waits for initial metadata alone (reactors always do) gets it
  /// this long after it came, or with the first message, and only then is the
  /// stream beyond retrying: a server that sends headers and fails at once is
  /// retried. 0: at once. Range: ≥ 0. Default: 15 ms.
  Duration initial_metadata_grace = std::chrono::milliseconds(15);

  /// A write is reported as done while no more than this many bytes wait for gRPC
  /// to take them. 0: a write is done when gRPC has taken it, as without us; each
  /// then costs two hand-overs between threads. Range: [0, 2^30]. Default: 0.
  int write_behind_bytes = 0;

  /// Messages that are received before the caller asks for them.
  /// Range: [1, 10000]. Default: 1.
  int read_ahead_messages = 1;
};

/// Bytes that the streams of this process keep right now to send them again.
std::int64_t ReplayBytesInUse();

}  // namespace grpc_resilience

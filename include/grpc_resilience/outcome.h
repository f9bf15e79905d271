// What the result of an attempt means for the breaker.
//
//   AttemptResult result;
//   result.code = grpc::StatusCode::NOT_FOUND;
//   Classification c = Classify(result);      // kSuccess: the peer answered
//
// | result                                             | outcome  |
// |----------------------------------------------------|----------|
// | UNAVAILABLE, INTERNAL, UNKNOWN, DATA_LOSS           | failure  |
// | DEADLINE_EXCEEDED after a fair time                 | failure  |
// | DEADLINE_EXCEEDED sooner                            | ignored  |
// | RESOURCE_EXHAUSTED from the peer                    | failure  |
// | made on this side (a message over the size limit)   | ignored  |
// | rejected by a breaker of ours, also behind the peer | ignored  |
// | UNAVAILABLE of a probe that found no connection     | ignored  |
// | cancelled by the caller                             | ignored  |
// | every other code, unknown ones included             | success  |

#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

using StatusCode = grpc::StatusCode;

enum class Outcome { kSuccess, kFailure, kIgnored };

/// Why an outcome is ignored.
enum class IgnoredCause {
  kNone,              ///< it isn't
  kCancelled,         ///< by the caller
  kDeadlineTooShort,  ///< the attempt had less than a fair time, or none
  kLocalError,        ///< never left this process (message too large, …)
  kDropped,           ///< the permit was dropped without a result
  kStale,             ///< admitted before the breaker's last transition
  kOwnRejection,      ///< rejected by a breaker or limit of our own
  kNeutralProbe,  ///< a probe that tells nothing: the channel wasn't connected
  kUnspecified,   ///< recorded as ignored without a cause
};
/// Enumerators of IgnoredCause.
inline constexpr std::size_t kIgnoredCauses = 9;

std::string_view ToString(Outcome outcome);
std::string_view ToString(IgnoredCause cause);
/// "UNAVAILABLE"; "CODE_42" for a number gRPC doesn't define.
std::string StatusCodeName(StatusCode code);

/// Where a status was made, as far as the adapter can tell.
enum class ErrorOrigin {
  kPeerOrTransport,
  kLocal,         ///< this process, before anything was sent
  kOwnRejection,  ///< a breaker or limit of this library, also a nested one
  /// The channel had no connection and the attempt didn't wait for one. A failure
  /// like any other for a call, no verdict for a probe.
  kNotConnected,
};

/// What is known of an attempt when it ends.
struct AttemptResult {
  StatusCode code = StatusCode::OK;
  /// The status message; only for humans, decides nothing.
  std::string_view message;
  ErrorOrigin origin = ErrorOrigin::kPeerOrTransport;
  /// The caller cancelled before or while the attempt ran.
  bool cancelled_by_caller = false;
  /// The attempt had its full per_attempt_timeout, no deadline at all, or at
  /// least the breaker's min_deadline_for_failure.
  bool had_fair_time = true;
  /// It was a probe of a half-open breaker.
  bool is_probe = false;
  /// The response object, for predicates; null where there is none or its type
  /// isn't known. Valid during the call only. The gRPC adapter hands over a
  /// `const google::protobuf::MessageLite*` for methods with protobuf messages.
  const void* response = nullptr;
};

struct Classification {
  Outcome outcome = Outcome::kSuccess;
  IgnoredCause cause = IgnoredCause::kNone;
};

/// The table above. Pure.
Classification Classify(const AttemptResult& result);

/// Overrides Classify for a policy: called once per attempt with what Classify
/// said, on the thread that ended the attempt, never under a lock. May throw: an
/// exception leaves the default in place.
using OutcomePredicate =
    std::function<Outcome(const AttemptResult& result, Outcome by_default)>;

}  // namespace grpc_resilience

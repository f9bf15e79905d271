// When the fallbacks of a method are asked, and how long they may take.
//
//   config.Method("/shop.Catalogue/Get").fallback_rules.timeout =
//       std::chrono::milliseconds(50);
//
// | the call ended because                                     | fallbacks |
// |------------------------------------------------------------|-----------|
// | the breaker rejected it                                    | asked     |
// | a retryable code, and no retry: attempts, budget or time   | asked     |
// |   used up, pushback, chain stop, method not idempotent     |           |
// | its deadline passed after it was sent                      | asked     |
// | any other code, if listed in `also_on`                     | asked     |
// | any other code; a message over a size limit                | not asked |
// | a code that is the caller's own fault (INVALID_ARGUMENT,   | not asked |
// |   NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,            |           |
// |   FAILED_PRECONDITION, OUT_OF_RANGE, UNAUTHENTICATED),     |           |
// |   also where the policy retries it                         |           |
// | its deadline had passed before it was sent                 | not asked |
// | the caller cancelled; Resilience::Shutdown; success        | not asked |

#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <chrono>
#include <set>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// A value type. Validated by Resilience::Create.
struct FallbackRules {
  /// How long each source may take; never past the call's deadline. A source that
  /// answers within Start is never too late, also at a deadline that has passed.
  /// Range: > 0. Default: 1 s.
  Duration timeout = std::chrono::seconds(1);

  /// Kept back from the call's deadline, at most half of the time it has, so that
  /// sources which take time (queue, other target, functions) can answer a call
  /// that ran into its deadline. The server is told the shorter deadline, and with
  /// a deadline of the caller's own the call is made of attempts of ours.
  /// Range: ≥ 0. Default: 0: at the deadline only sources that answer at once
  /// (stale cache, static response, inline functions) can.
  Duration reserve{0};

  /// Further codes that lead to a fallback. Range: none that is the caller's own
  /// fault, nor OK, nor CANCELLED. Default: none.
  std::set<grpc::StatusCode> also_on;
};

}  // namespace grpc_resilience

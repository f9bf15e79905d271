// Which calls the fallbacks are asked for: FallbackRules' table as pure functions.

#pragma once

#include "grpc_resilience/deadline.h"
#include "grpc_resilience/fallback_rules.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience::internal {

/// How a call ended.
struct EndedCall {
  StatusCode code = StatusCode::OK;
  StopReason reason = StopReason::kOk;
  int attempts = 0;
  /// The last attempt failed in this process (a message over a size limit).
  bool local_error = false;
};

/// The status says that the caller asked for something it can't have.
bool IsCallersFault(StatusCode code);

bool FallbackApplies(const FallbackRules& rules, const EndedCall& call);

/// What is left for the attempts of a call that must be over at `overall`.
Deadline DeadlineLessReserve(const FallbackRules& rules,
                             const Deadline& overall, TimePoint now);

/// Until when a source that is asked now may answer.
Deadline AnswerDeadline(const FallbackRules& rules, const Deadline& overall,
                        TimePoint now);

}  // namespace grpc_resilience::internal

// Tells the observers of a call's attempts and of its end. Costs nothing but a test
// where there are none.

#pragma once

#include <cstdint>

#include "core/call_session.h"
#include "core/replay_buffer.h"
#include "grpc_resilience/fallback.h"
#include "interceptor/call_plan.h"

namespace grpc_resilience::internal {

/// Attempt `number`, which `session` has just judged, began at `start`.
void TellAttemptEnd(const CallPlan& plan, const CallSession& session,
                    int number, StatusCode code, TimePoint start);
inline void TellAttemptEnd(const CallPlan& plan, const CallSession& session,
                           StatusCode code, TimePoint start) {
  TellAttemptEnd(plan, session, session.attempts(), code, start);
}

/// Attempt `number` begins beside others.
void TellHedge(const CallPlan& plan, int number);

/// The retry throttle refused what would have come next.
void TellBudgetRefusal(const CallPlan& plan, const CallSession& session);

/// A fallback of that kind was asked at `start` and has answered, or not.
void TellFallback(const CallPlan& plan, const FailedCall& call,
                  std::string_view kind, bool answered, TimePoint start);

/// After the session's kFinish; tells a refusal that ended the call as well.
/// `fallback` is the kind of the one that answered, if any.
void TellCallEnd(const CallPlan& plan, const CallSession& session,
                 StatusCode code, TimePoint start,
                 std::string_view fallback = {});

/// A stream of `plan` has let go of its buffer. `peak` is the most it kept.
void TellReplayBuffer(const CallPlan& plan, std::int64_t peak,
                      ReplayBuffer::Overflow overflow);

}  // namespace grpc_resilience::internal

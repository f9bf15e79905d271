// Tells the observers of a call's attempts and of its end. Costs nothing but a test
// where there are none.

#pragma once

#include <cstdint>

#include "core/call_session.h"
#include "core/replay_buffer.h"
#include "interceptor/call_plan.h"

namespace grpc_resilience::internal {

/// The attempt that `session` just judged began at `start`.
void TellAttemptEnd(const CallPlan& plan, const CallSession& session,
                    StatusCode code, TimePoint start);

/// The retry throttle refused what would have come next.
void TellBudgetRefusal(const CallPlan& plan, const CallSession& session);

/// After the session's kFinish; tells a refusal that ended the call as well.
void TellCallEnd(const CallPlan& plan, const CallSession& session,
                 StatusCode code, TimePoint start);

/// A stream of `plan` has let go of its buffer. `peak` is the most it kept.
void TellReplayBuffer(const CallPlan& plan, std::int64_t peak,
                      ReplayBuffer::Overflow overflow);

}  // namespace grpc_resilience::internal

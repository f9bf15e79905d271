// The session plan of one call that departs from its method's (CallOptions, chain
// stop).

#pragma once

#include "core/call_session.h"
#include "interceptor/call_override.h"

namespace grpc_resilience::internal {

/// Neither moved nor copied: the session refers to the policy beside it.
struct OwnPlan {
  OwnPlan(const SessionPlan& common, const CallOverride& override)
      : retry(*common.retry), session(common) {
    const CallOptions& options = override.options;
    if (options.max_attempts) retry.max_attempts = *options.max_attempts;
    if (options.per_attempt_timeout) {
      retry.per_attempt_timeout = options.per_attempt_timeout;
    }
    session.retry = &retry;
    session.chain_stop = override.chain_stop && retry.chain_stop;
  }
  OwnPlan(const OwnPlan&) = delete;
  OwnPlan& operator=(const OwnPlan&) = delete;

  RetryPolicy retry;
  SessionPlan session;
};

}  // namespace grpc_resilience::internal

#include "interceptor/own_call_limit.h"

#include <grpc/grpc.h>

#include "interceptor/context_access.h"
#include "interceptor/grpc_timeout.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kTimeoutKey[] = "grpc-timeout";

}  // namespace

bool OwnCallLimit::Fits(const grpc::ClientContext& context,
                        const Metadata& metadata) {
  return IsInfinite(context.raw_deadline()) &&
         !ContextAccess::HasParent(context) &&
         (metadata.empty() || metadata.count(kTimeoutKey) == 0);
}

void OwnCallLimit::Arm(TimePoint now, TimePoint limit, Metadata* metadata) {
  metadata->emplace(kTimeoutKey, GrpcTimeoutText(limit - now));
  // Of no group: a shutdown ends waits, never a call in flight.
  timer_id_ = timer_->Schedule(
      limit, [this] { OnTimer(); }, nullptr);
}

bool OwnCallLimit::OnCallEnd() {
  if (timer_->Cancel(timer_id_)) return true;
  return state_.exchange(State::kCallEnded, std::memory_order_acq_rel) ==
         State::kCallCancelled;
}

void OwnCallLimit::OnTimer() {
  if (state_.load(std::memory_order_acquire) == State::kArmed) {
    // As core says it at a deadline. The call can't be gone: its end is held
    // until the exchange below.
    grpc_call_cancel_with_status(context_->c_call(),
                                 GRPC_STATUS_DEADLINE_EXCEEDED,
                                 "Deadline Exceeded", nullptr);
  }
  if (state_.exchange(State::kCallCancelled, std::memory_order_acq_rel) ==
      State::kCallEnded) {
    owner_->OnLimitSettled();
  }
}

void OwnCallLimit::RemoveHeader(Metadata* metadata) {
  metadata->erase(kTimeoutKey);
}

}  // namespace grpc_resilience::internal

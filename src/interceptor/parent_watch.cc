#include "interceptor/parent_watch.h"

#include <limits>

#include "interceptor/context_access.h"
#include "interceptor/inner_call_scope.h"
#include "interceptor/thread_handover.h"

namespace grpc_resilience::internal {

ParentWatch::ParentWatch(grpc::ChannelInterface* channel,
                         grpc::ClientContext* child, const char* method,
                         Owner* owner)
    : owner_(owner) {
  ContextAccess::Carry(*child, &context_);
  // Nothing is sent, so nothing must be asked for credentials.
  context_.set_credentials(nullptr);
  const InnerCallScope inner;
  const grpc::internal::RpcMethod rpc(method,
                                      grpc::internal::RpcMethod::NORMAL_RPC);
  // Beyond the end of the list: no interceptor sees this call.
  call_ = ContextAccess::CreateCall(channel, rpc, &context_,
                                    std::numeric_limits<std::size_t>::max());
  done_.functor_run = &ParentWatch::OnDone;
  done_.inlineable = false;
  done_.watch = this;
}

void ParentWatch::Start() {
  ops_.ClientRecvStatus(&context_, &status_);
  ops_.set_core_cq_tag(&done_);
  grpc::internal::Call call = call_;
  HandOver(&done_);
  call.PerformOps(&ops_);
}

void ParentWatch::OnDone(grpc_completion_queue_functor* done, int ok) {
  TakeOver(done);
  ParentWatch* watch = static_cast<Done*>(done)->watch;
  void* tag = nullptr;
  bool result = ok != 0;
  if (!watch->ops_.FinalizeResult(&tag, &result)) return;
  watch->owner_->OnParentWatchDone(watch->status_.error_code());
}

}  // namespace grpc_resilience::internal

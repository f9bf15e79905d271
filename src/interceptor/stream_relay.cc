#include "interceptor/stream_relay.h"

#include <grpc/grpc.h>

#include <utility>

#include "interceptor/call_events.h"
#include "interceptor/context_access.h"
#include "interceptor/reaction.h"
#include "interceptor/thread_handover.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

StreamSession::Settings SettingsOf(const CallPlan& plan, bool unary_response) {
  const StreamPolicy& policy = plan.policy.stream;
  StreamSession::Settings settings;
  settings.replay = {policy.replay_bytes, plan.max_replay_bytes};
  settings.write_behind_bytes = policy.write_behind_bytes;
  settings.read_ahead_messages = policy.read_ahead_messages;
  settings.has_grace = policy.initial_metadata_grace > Duration::zero();
  settings.unary_response = unary_response;
  return settings;
}

// The parent may be over before the last attempt of its child is made.
grpc_call* HoldParent(const grpc::ClientContext& context) {
  grpc_call* parent = ContextAccess::ParentCall(context);
  if (parent != nullptr) grpc_call_ref(parent);
  return parent;
}

}  // namespace

std::shared_ptr<StreamRelay> StreamRelay::Make(
    std::shared_ptr<const CallPlan> plan, grpc::ClientContext* context,
    bool unary_response) {
  std::shared_ptr<Timer> timer = plan->timer;
  return ShareOutsideReactions(
      new StreamRelay(std::move(plan), context, unary_response),
      std::move(timer));
}

StreamRelay::StreamRelay(std::shared_ptr<const CallPlan> plan,
                         grpc::ClientContext* context, bool unary_response)
    : plan_(std::move(plan)),
      context_(context),
      unary_response_(unary_response),
      raw_deadline_(context->raw_deadline()),
      callers_deadline_(
          FromGprDeadline(raw_deadline_, plan_->session.clock->Now())),
      deadline_(callers_deadline_),
      start_(plan_->session.clock->Now()),
      parent_(HoldParent(*context)),
      stream_(SettingsOf(*plan_, unary_response), &ReplayBudget::OfProcess()),
      receiver_(plan_->types, plan_->policy.message_kind) {
  ContextAccess::Carry(*context, &route_.carried);
}

StreamRelay::~StreamRelay() {
  if (parent_ != nullptr) grpc_call_unref(parent_);
}

// --- Passes of the caller ---------------------------------------------------

void StreamRelay::Write(const grpc::ByteBuffer& bytes, bool last, Pass held) {
  bool taken = true;
  {
    CallLock lock(&mu_);
    taken = stream_.OnWrite(static_cast<std::int64_t>(bytes.Length()), last,
                            held != nullptr);
    if (taken) {
      sent_.push_back(bytes);
      if (held != nullptr) write_ = held;
    }
  }
  if (taken) return Advance();
  // Two writes at once are the application's mistake.
  held->FailHijackedSendMessage();
  held->Proceed();
}

void StreamRelay::HalfClose(Pass held) {
  {
    CallLock lock(&mu_);
    stream_.OnHalfClose(held != nullptr);
    close_ = held;
  }
  Advance();
}

void StreamRelay::Receive(Pass held, const PassHooks& hooks, bool first_batch) {
  {
    CallLock lock(&mu_);
    if (hooks.status) {
      finish_ = held;
      stream_.OnFinishWanted();
    } else if (hooks.message) {
      read_ = held;
      stream_.OnReadWanted(hooks.initial_metadata);
    } else {
      headers_ = held;
      stream_.OnHeadersWanted(/*at_once=*/first_batch);
    }
  }
  Advance();
}

void StreamRelay::Cancel() {
  std::shared_ptr<StreamAttempt> attempt;
  {
    CallLock lock(&mu_);
    cancelled_ = true;
    stream_.OnCancel();
    attempt = attempt_;
    // Never answered from here: the caller's context is locked while this runs.
    if (waiting_ && plan_->timer->Cancel(wait_timer_)) {
      wait_timer_ = Schedule(TimePoint::min(), plan_->resilience.get(),
                             [](StreamRelay* relay) { relay->OnWaitOver(); });
    } else if (idle_ && !begun_) {
      Schedule(TimePoint::min(), nullptr,
               [](StreamRelay* relay) { relay->EndIdle(IdleEnd::kCancelled); });
    } else if (stream_.finished()) {
      Schedule(TimePoint::min(), nullptr,
               [](StreamRelay* relay) { relay->Advance(); });
    }
  }
  if (attempt != nullptr) attempt->Cancel();
}

void StreamRelay::Abandon() {
  std::shared_ptr<StreamAttempt> attempt;
  std::shared_ptr<StreamRelay> idle;  // with a watch that nobody else ends
  {
    CallLock lock(&mu_);
    if (!begun_) idle = watching_;
    stream_.OnAbandoned();
    write_ = close_ = headers_ = read_ = finish_ = nullptr;
    received_.clear();
    CancelTimerLocked(&deadline_timer_);
    begun_ = true;
    if (stream_.finished()) return;
    cancelled_ = true;
    attempt = attempt_;
    if (waiting_ && plan_->timer->Cancel(wait_timer_)) {
      wait_timer_ = Schedule(TimePoint::min(), plan_->resilience.get(),
                             [](StreamRelay* relay) { relay->OnWaitOver(); });
    }
  }
  if (attempt != nullptr) attempt->Cancel();
  if (idle != nullptr) idle->watch_->Stop();
}

// --- Reports of the attempt -------------------------------------------------

void StreamRelay::OnSent(bool ok) {
  {
    CallLock lock(&mu_);
    stream_.OnWriteDone(ok);
  }
  Advance();
}

void StreamRelay::OnHeaders(bool real) {
  {
    CallLock lock(&mu_);
    stream_.OnHeaders(real);
  }
  Advance();
}

void StreamRelay::OnReceived(std::unique_ptr<StreamMessage> message) {
  {
    CallLock lock(&mu_);
    if (message == nullptr) {
      stream_.OnEndOfMessages();
    } else {
      if (!heard_message_) FirstMessageLocked();
      if (unary_response_) received_.clear();
      if (stream_.OnMessage()) received_.push_back(std::move(*message));
    }
  }
  Advance();
}

void StreamRelay::OnStatus() {
  {
    CallLock lock(&mu_);
    stream_.OnStatus();
  }
  Advance();
}

void StreamRelay::FirstMessageLocked() {
  heard_message_ = true;
  CancelTimerLocked(&limit_timer_);
  if (slow_mark_ != nullptr) {
    slow_mark_->Disarm();
    slow_mark_ = nullptr;
  }
  session_->OnFirstMessage();
}

// --- What is to be done -----------------------------------------------------

void StreamRelay::Advance() {
  Work work;
  {
    CallLock lock(&mu_);
    TakeWorkLocked(&work);
  }
  Do(std::move(work));
}

void StreamRelay::TakeWorkLocked(Work* work) {
  work->step = stream_.Next();
  const StreamStep& step = work->step;
  work->attempt = attempt_;
  if (step.send && step.send->message) {
    work->to_send = sent_[*step.send->message - sent_begin_];
  }
  for (; sent_begin_ < stream_.buffer().begin(); ++sent_begin_) {
    sent_.pop_front();
  }
  if (step.read == StreamStep::Read::kMessage ||
      (step.finish && unary_response_ && !received_.empty())) {
    work->message = std::move(received_.front());
    received_.pop_front();
  }
  if (stream_.queued() == 0 && !unary_response_) received_.clear();
  if (step.write) work->write = std::exchange(write_, nullptr);
  if (step.close) work->close = std::exchange(close_, nullptr);
  if (step.headers) work->headers = std::exchange(headers_, nullptr);
  if (step.read != StreamStep::Read::kNone) {
    work->read = std::exchange(read_, nullptr);
  }
  if (step.finish) work->finish = std::exchange(finish_, nullptr);
  if (step.start_grace) {
    const int attempt = attempt_number_;
    grace_timer_ = Schedule(
        SaturatingAdd(plan_->session.clock->Now(),
                      plan_->policy.stream.initial_metadata_grace),
        nullptr, [attempt](StreamRelay* relay) { relay->OnGrace(attempt); });
  }
  if (step.committed) CancelTimerLocked(&grace_timer_);
  if ((step.committed || step.overflowed || stream_.finished()) &&
      !replay_told_) {
    replay_told_ = true;
    work->tell_replay = true;
    work->replay_peak = stream_.buffer().peak();
    work->overflow = stream_.buffer().overflow();
  }
}

void StreamRelay::Do(Work work) {
  const std::shared_ptr<StreamRelay> self = shared_from_this();
  const StreamStep& step = work.step;
  if (work.tell_replay && (work.replay_peak > 0 ||
                           work.overflow != ReplayBuffer::Overflow::kNone)) {
    TellReplayBuffer(*plan_, work.replay_peak, work.overflow);
  }
  // The attempt stays as long as something that was ordered of it is under way.
  if (step.send || step.receive) {
    const std::shared_ptr<StreamAttempt::Owner> owner(self, this);
    if (step.send) work.attempt->Send(*step.send, work.to_send, owner);
    if (step.send && step.send->start) work.attempt->AwaitEnd(owner);
    if (step.receive) work.attempt->Receive(owner);
  }

  if (work.write != nullptr && !*step.write) {
    work.write->FailHijackedSendMessage();
  }
  if (work.headers != nullptr) FillHeaders(work.headers);
  if (work.read != nullptr) FillRead(&work);
  if (work.finish != nullptr) FillFinish(&work);
  ProceedAll({work.write, work.close, work.headers, work.read, work.finish});
  if (step.settled) Settle();
}

}  // namespace grpc_resilience::internal

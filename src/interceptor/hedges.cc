#include "interceptor/hedges.h"

#include "interceptor/call_events.h"

namespace grpc_resilience::internal {
namespace {

Duration DelayOf(const CallPlan& plan) {
  Duration delay = plan.policy.hedging->hedging_delay;
  if (plan.latency != nullptr) delay = plan.latency->Estimate().value_or(delay);
  return delay;
}

}  // namespace

Hedges::Hedges(const CallPlan& plan, const SessionPlan& session_plan,
               const AttemptRoute& route, const AttemptRequest& request,
               Deadline deadline, CallSession* first, Owner* owner)
    : plan_(plan),
      route_(route),
      request_(request),
      owner_(*owner),
      session_(session_plan, deadline, DelayOf(plan), first) {}

void Hedges::Start(const Deadline& first_deadline) {
  Event start;
  start.kind = EventKind::kStart;
  start.deadline = first_deadline;
  Post(start, /*awaited=*/false);
}

void Hedges::Cancel() {
  CallLock lock(&mu_);
  if (over_) return;
  ++pending_;
  // Not from here: the caller's context is locked while this runs.
  plan_.timer->Schedule(
      TimePoint::min(),
      [this] {
        Post({EventKind::kCancel, 0, {}, {}}, /*awaited=*/true);
      },
      plan_.resilience.get());
}

void Hedges::OnParentEnd(grpc::StatusCode code) {
  Post({EventKind::kParentEnd, 0, code, {}}, /*awaited=*/false);
}

void Hedges::Sent::OnAttemptDone() {
  hedges->Post({EventKind::kAttemptEnd, number, {}, {}}, /*awaited=*/false);
}

Attempt* Hedges::attempt() {
  for (const auto& sent : sent_) {
    if (sent->number == session_.result()) return &*sent->attempt;
  }
  return nullptr;
}

void Hedges::Post(const Event& event, bool awaited) {
  {
    CallLock lock(&mu_);
    if (over_) return;
    if (awaited) --pending_;
    events_.push_back(event);
    if (driven_) return;
    driven_ = true;
  }
  Drive();
}

void Hedges::Drive() {
  while (true) {
    Event event;
    {
      CallLock lock(&mu_);
      if (events_.empty()) {
        driven_ = false;
        over_ =
            session_.finished() && session_.in_flight() == 0 && pending_ == 0;
        if (!over_) return;
        break;
      }
      event = events_.front();
      events_.pop_front();
    }
    Handle(event);
  }
  owner_.OnHedgesDone();
}

void Hedges::Handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kStart:
      Send(1, event.deadline);
      break;
    case EventKind::kAttemptEnd:
      return HandleAttemptEnd(event.attempt);
    case EventKind::kTime:
      awaited_.reset();
      break;
    case EventKind::kCancel:
      session_.OnCancel();
      CancelAttempts();
      break;
    case EventKind::kParentEnd:
      if (event.code == grpc::StatusCode::CANCELLED) {
        session_.OnCancel();
      } else {
        session_.LowerDeadline(Deadline::At(plan_.session.clock->Now()));
      }
      break;
  }
  if (plan_.resilience->is_shut_down()) session_.OnShutdown();
  Follow(session_.Next(plan_.session.clock->Now()));
}

void Hedges::HandleAttemptEnd(int number) {
  Sent& sent = *sent_[static_cast<std::size_t>(number - 1)];
  sent.on_wire = false;
  if (sent.slow_mark != nullptr) sent.slow_mark->Disarm();
  CallSession& session = session_.session(number);
  const bool lost = session_.finished();
  const AttemptEnd end = owner_.EndOf(*sent.attempt, &session);
  if (plan_.resilience->is_shut_down()) session_.OnShutdown();
  const TimePoint now = plan_.session.clock->Now();
  if (number == 1 && !lost && end.code == StatusCode::OK &&
      plan_.latency != nullptr) {
    plan_.latency->Record(now - sent.start);
  }
  const HedgeStep step = session_.OnAttemptEnd(number, end, now);
  TellAttemptEnd(plan_, session, number, end.code, sent.start);
  Follow(step);
}

void Hedges::Follow(HedgeStep step) {
  while (step.step == Step::kAttempt) {
    TellHedge(plan_, step.attempt);
    Send(step.attempt, step.attempt_deadline);
    step = session_.Next(plan_.session.clock->Now());
  }
  if (step.step == Step::kFinish) {
    CutOff();
  } else {
    Await(step.wait_until);
  }
}

void Hedges::Send(int number, const Deadline& deadline) {
  auto sent = std::make_unique<Sent>();
  sent->hedges = this;
  sent->number = number;
  sent->start = plan_.session.clock->Now();
  Attempt& attempt = sent->attempt.emplace(
      route_, request_, number, owner_.DeadlineOf(deadline, sent->start),
      static_cast<Attempt::Owner*>(sent.get()));
  CallSession& session = session_.session(number);
  // With kCalls the permit goes from one session to another.
  if (plan_.session.breaker_counts == BreakerCounts::kAttempts) {
    if (const auto slow_at = session.slow_at()) {
      sent->slow_mark = SlowMark::Arm(plan_.timer, *slow_at, &session);
    }
  }
  sent_.push_back(std::move(sent));
  if (owner_.IsCancelled()) attempt.Cancel();
  attempt.Run();  // its end is an event, at the earliest the next
}

void Hedges::Await(std::optional<TimePoint> when) {
  if (when == awaited_) {
    if (!when && session_.in_flight() == 0) owner_.OnNothingOnTheWire();
    return;
  }
  StopTimer();
  if (!when) return;
  awaited_ = when;
  {
    CallLock lock(&mu_);
    ++pending_;
    timer_id_ = plan_.timer->Schedule(
        *when, [this] { Post(Event(), /*awaited=*/true); },
        plan_.resilience.get());
  }
  if (session_.in_flight() == 0) owner_.OnNothingOnTheWire();
  // A shutdown that came in between has not seen this entry.
  if (plan_.resilience->is_shut_down()) {
    StopTimer();
    Post(Event(), /*awaited=*/false);
  }
}

void Hedges::StopTimer() {
  awaited_.reset();
  CallLock lock(&mu_);
  if (timer_id_ && plan_.timer->Cancel(*timer_id_)) --pending_;
  timer_id_.reset();
}

void Hedges::CancelAttempts() {
  for (const auto& sent : sent_) {
    if (sent->on_wire) sent->attempt->Cancel();
  }
}

void Hedges::CutOff() {
  if (cut_off_) return;
  cut_off_ = true;
  StopTimer();
  RecordLatency();
  if (session_.budget_refused() &&
      session_.session(session_.result()).reason() !=
          StopReason::kBudgetExhausted) {
    TellBudgetRefusal(plan_, session_.session(session_.result()));
  }
  CancelAttempts();
}

// An attempt that lost against a later one would have taken longer still.
void Hedges::RecordLatency() {
  const Sent& first = *sent_.front();
  if (plan_.latency == nullptr || !first.on_wire || owner_.IsCancelled()) {
    return;
  }
  plan_.latency->Record(plan_.session.clock->Now() - first.start);
}

}  // namespace grpc_resilience::internal

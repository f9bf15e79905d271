#include "benchmark/effect/simulated_clients.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience::bench {

using internal::AttemptEnd;
using internal::Decision;
using internal::SessionPlan;
using internal::Step;

SimulatedClients::SimulatedClients(const SimulatedPlan& plan, FakeClock* clock,
                                   SimulatedServer* server)
    : plan_(plan),
      clock_(*clock),
      server_(*server),
      end_(clock->Now() + plan.length),
      random_(plan.seed),
      callers_(random_.Bits()),
      pause_(plan.calls_per_second) {
  const TargetConfig& target = plan_.config.DefaultTarget();
  for (int i = 0; i < plan_.clients; ++i) {
    breakers_.push_back(std::make_unique<CircuitBreaker>(
        BreakerKey{"backend", ""}, target.breaker, target.throttle, clock_,
        random_, nullptr));
    SessionPlan session;
    session.target = "backend";
    session.retry = &plan_.config.DefaultMethod().retry;
    session.idempotent = true;
    if (plan_.with_breaker) session.breaker = breakers_.back().get();
    session.min_deadline_for_failure = target.breaker.min_deadline_for_failure;
    session.clock = &clock_;
    session.random = &random_;
    sessions_.push_back(session);
  }
}

CallRecords SimulatedClients::Run() {
  for (const SessionPlan& session : sessions_) ScheduleCall(session);
  clock_.Advance(plan_.length + plan_.time_limit);
  return over_;
}

void SimulatedClients::ScheduleCall(const SessionPlan& plan) {
  const TimePoint start =
      clock_.Now() + std::chrono::duration_cast<Duration>(
                         std::chrono::duration<double>(NextPause()));
  if (start >= end_) return;
  At(start, [this, &plan] {
    const TimePoint now = clock_.Now();
    const auto call =
        std::make_shared<Call>(plan, Deadline::After(now, plan_.time_limit));
    call->record.start = now;
    Follow(call, call->session.Start());
    ScheduleCall(plan);
  });
}

double SimulatedClients::NextPause() {
  const TimePoint now = clock_.Now();
  const bool spike = now >= plan_.spike_begin && now < plan_.spike_end;
  return pause_(callers_) / (spike ? plan_.spike : 1);
}

void SimulatedClients::Follow(const std::shared_ptr<Call>& call,
                              const Decision& decision) {
  switch (decision.step) {
    case Step::kAttempt:
      return Attempt(call, decision);
    case Step::kWait:
      return At(decision.wait_until,
                [this, call] { Follow(call, call->session.OnWaitOver()); });
    case Step::kFinish:
      call->record.end = clock_.Now();
      call->record.ok = call->session.reason() == StopReason::kOk;
      call->record.attempts = call->session.attempts();
      over_.push_back(call->record);
  }
}

void SimulatedClients::Attempt(const std::shared_ptr<Call>& call,
                               const Decision& decision) {
  SimulatedAnswer answer =
      server_.OnAttempt(clock_.Now(), decision.attempt_deadline);
  if (decision.attempt_deadline.Expired(answer.at)) {
    answer = {*decision.attempt_deadline.when(), StatusCode::DEADLINE_EXCEEDED};
  }
  At(answer.at, [this, call, code = answer.code] {
    AttemptEnd end;
    end.code = code;
    Follow(call, call->session.OnAttemptEnd(end));
  });
}

void SimulatedClients::At(TimePoint when, std::function<void()> run) {
  clock_.Schedule(when, std::move(run), nullptr);
}

}  // namespace grpc_resilience::bench

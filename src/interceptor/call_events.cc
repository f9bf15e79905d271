#include "interceptor/call_events.h"

namespace grpc_resilience::internal {
namespace {

// What an observer throws stays here: it must never cost a call its result.
template <typename Event>
void Tell(const Resilience::Observers& observers,
          void (CallObserver::*hear)(const Event&), const Event& event) {
  for (const auto& observer : observers) {
    try {
      (observer.get()->*hear)(event);
    } catch (...) {
      // The others still hear of it.
    }
  }
}

}  // namespace

void TellAttemptEnd(const CallPlan& plan, const CallSession& session,
                    int number, StatusCode code, TimePoint start) {
  if (plan.observers == nullptr) return;
  AttemptEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.number = number;
  event.code = code;
  event.classification = session.classification();
  event.duration = plan.session.clock->Now() - start;
  Tell(*plan.observers, &CallObserver::OnAttemptEnd, event);
}

void TellHedge(const CallPlan& plan, int number) {
  if (plan.observers == nullptr) return;
  HedgeEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.number = number;
  Tell(*plan.observers, &CallObserver::OnHedge, event);
}

void TellBudgetRefusal(const CallPlan& plan, const CallSession& session) {
  if (plan.observers == nullptr) return;
  BudgetRefusalEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.attempts = session.attempts();
  Tell(*plan.observers, &CallObserver::OnBudgetRefusal, event);
}

void TellFallback(const CallPlan& plan, const FailedCall& call,
                  std::string_view kind, bool answered, TimePoint start) {
  if (plan.observers == nullptr) return;
  FallbackEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.kind = kind;
  event.code = call.code;
  event.reason = call.reason;
  event.answered = answered;
  event.duration = plan.session.clock->Now() - start;
  Tell(*plan.observers, &CallObserver::OnFallback, event);
}

void TellCallEnd(const CallPlan& plan, const CallSession& session,
                 StatusCode code, TimePoint start, std::string_view fallback) {
  if (plan.observers == nullptr) return;
  if (session.reason() == StopReason::kBudgetExhausted) {
    TellBudgetRefusal(plan, session);
  }
  CallEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.attempts = session.attempts();
  event.code = code;
  event.reason = session.reason();
  event.fallback = fallback;
  event.duration = plan.session.clock->Now() - start;
  Tell(*plan.observers, &CallObserver::OnCallEnd, event);
}

void TellReplayBuffer(const CallPlan& plan, std::int64_t peak,
                      ReplayBuffer::Overflow overflow) {
  if (plan.observers == nullptr) return;
  ReplayBufferEvent event;
  event.target = plan.target;
  event.method = plan.method;
  event.bytes = peak;
  event.process_bytes = ReplayBytesInUse();
  event.overflow = overflow != ReplayBuffer::Overflow::kNone;
  event.process_full = overflow == ReplayBuffer::Overflow::kProcess;
  Tell(*plan.observers, &CallObserver::OnReplayBuffer, event);
}

}  // namespace grpc_resilience::internal

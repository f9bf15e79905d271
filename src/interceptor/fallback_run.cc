#include "interceptor/fallback_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fallback_decision.h"
#include "interceptor/call_events.h"

namespace grpc_resilience::internal {

// What a reply stands on: one turn of the run. It doesn't keep the run, and with it
// the call's policy, alive: a source may keep a reply for ever, and is a part of that
// policy itself.
class FallbackRun::Asked final : public FallbackReply::Taker {
 public:
  Asked(std::weak_ptr<FallbackRun> run, std::size_t index)
      : run_(std::move(run)), index_(index) {}
  ~Asked() override { Pass(FallbackAnswer::Declined()); }

  bool Take(FallbackAnswer answer) override { return Pass(std::move(answer)); }
  bool over() const override {
    const std::shared_ptr<FallbackRun> run = run_.lock();
    return run == nullptr || run->IsOver(index_);
  }

 private:
  bool Pass(FallbackAnswer answer) {
    const std::shared_ptr<FallbackRun> run = run_.lock();
    return run != nullptr && run->Take(index_, std::move(answer));
  }

  const std::weak_ptr<FallbackRun> run_;
  const std::size_t index_;
};

FallbackRun::FallbackRun(std::shared_ptr<const CallPlan> plan, FailedCall call,
                         Deadline overall, Owner* owner)
    : plan_(std::move(plan)),
      call_(std::move(call)),
      overall_(overall),
      owner_(owner) {}

bool FallbackRun::AskFrom(std::size_t index) {
  const std::size_t sources = plan_->fallback->sources().size();
  for (; index < sources; ++index) {
    {
      CallLock lock(&mu_);
      if (cancelled_) return true;
      phase_ = Phase::kAsking;
      turn_ = index;
    }
    if (!Ask(index)) return false;
    FallbackAnswer answer;
    {
      CallLock lock(&mu_);
      answer = std::move(answer_);
      answer_ = FallbackAnswer();
    }
    if (Judge(index, std::move(answer))) return true;
  }
  return true;
}

// True: what the source says is in answer_. False: it is waited for, and the run may
// be over.
bool FallbackRun::Ask(std::size_t index) {
  asked_at_ = plan_->session.clock->Now();
  const std::shared_ptr<const FailedCall> call = CallFor(asked_at_);
  auto asked = std::make_shared<Asked>(weak_from_this(), index);
  try {
    plan_->fallback->sources()[index]->Start(call, FallbackReply(asked));
  } catch (...) {
    asked->Take(FallbackAnswer::Declined("threw an exception"));
  }
  asked.reset();  // before the lock: it may be the last one, and decline

  const bool no_time = call->deadline.Expired(plan_->session.clock->Now());
  if (!no_time) {
    {
      CallLock lock(&mu_);
      if (phase_ == Phase::kAnswered) return true;
    }
    owner_->OnFallbackSlow();  // still there: nobody goes on before kWaiting
  }
  CallLock lock(&mu_);
  if (phase_ == Phase::kAnswered) return true;
  if (no_time || cancelled_) {
    phase_ = Phase::kAnswered;
    answer_ = FallbackAnswer::Declined("no time left");
    return true;
  }
  phase_ = Phase::kWaiting;
  timer_id_ = plan_->timer->Schedule(
      *call->deadline.when(),
      [run = shared_from_this(), index] { run->OnTimeout(index); },
      plan_->resilience.get());
  return false;
}

std::shared_ptr<const FailedCall> FallbackRun::CallFor(TimePoint now) const {
  auto call = std::make_shared<FailedCall>(call_);
  call->now = now;
  call->deadline = AnswerDeadline(plan_->fallback->rules(), overall_, now);
  return call;
}

bool FallbackRun::Take(std::size_t index, FallbackAnswer answer) {
  {
    CallLock lock(&mu_);
    if (index != turn_) return false;
    if (phase_ == Phase::kAsking) {
      phase_ = Phase::kAnswered;
      answer_ = std::move(answer);
      return true;
    }
    if (phase_ != Phase::kWaiting || cancelled_) return false;
    phase_ = Phase::kAnswered;
    plan_->timer->Cancel(timer_id_);
  }
  GoOn(index, std::move(answer));
  return true;
}

bool FallbackRun::IsOver(std::size_t index) const {
  CallLock lock(&mu_);
  return index != turn_ || cancelled_ ||
         (phase_ != Phase::kAsking && phase_ != Phase::kWaiting);
}

void FallbackRun::OnTimeout(std::size_t index) {
  {
    CallLock lock(&mu_);
    if (index != turn_ || phase_ != Phase::kWaiting) return;
    phase_ = Phase::kAnswered;
  }
  GoOn(index, FallbackAnswer::Declined("took too long"));
}

void FallbackRun::GoOn(std::size_t index, FallbackAnswer answer) {
  if (Judge(index, std::move(answer)) || AskFrom(index + 1)) {
    owner_->OnFallbackOver();
  }
}

// True: it is an answer.
bool FallbackRun::Judge(std::size_t index, FallbackAnswer answer) {
  const FallbackPlan& plan = *plan_->fallback;
  const std::string_view kind = plan.sources()[index]->kind();
  std::string why;
  if (answer.kind == FallbackAnswer::Kind::kDeclined) {
    why = std::move(answer.message);
  } else {
    why = plan.Reject(answer);
    if (why.empty()) {
      outcome_.answer = std::move(answer);
      outcome_.kind = kind;
    }
  }
  if (!why.empty()) {
    absl::StrAppend(&outcome_.declined, outcome_.declined.empty() ? "" : "; ",
                    absl::string_view(kind.data(), kind.size()), ": ", why);
  }
  TellFallback(*plan_, call_, kind, outcome_.answer.has_value(), asked_at_);
  return outcome_.answer.has_value();
}

void FallbackRun::Cancel() {
  CallLock lock(&mu_);
  cancelled_ = true;
  if (phase_ == Phase::kWaiting && plan_->timer->Cancel(timer_id_)) {
    timer_id_ = plan_->timer->Schedule(
        TimePoint::min(),
        [run = shared_from_this(), index = turn_] { run->OnTimeout(index); },
        plan_->resilience.get());
  }
}

}  // namespace grpc_resilience::internal

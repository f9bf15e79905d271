// Plays a server and the time for a HedgeSession: several attempts under way at
// once, on a fake clock.

#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "core/hedge_session.h"
#include "core/session_driver.h"

namespace grpc_resilience::internal {

/// How a hedged call went. Times count from its start.
struct HedgeRecord {
  std::vector<Duration> starts;
  std::vector<std::optional<Duration>> limits;  // time each was given
  Duration elapsed{0};
  int result = 0;    // the attempt that the caller gets
  int attempts = 0;  // as the call reports them
  StopReason reason = StopReason::kOk;
  StatusCode code = StatusCode::OK;
  std::string message;
  /// Attempts that were under way when the call was decided.
  int cut_off = 0;
  bool budget_refused = false;
};

class HedgeDriver {
 public:
  explicit HedgeDriver(FakeClock& clock) : clock_(clock) {}

  /// The call is cancelled after that time.
  void CancelAfter(Duration time) { cancel_after_ = time; }

  HedgeRecord Run(const SessionPlan& plan, const Deadline& deadline,
                  Duration delay, const Server& server) {
    start_ = clock_.Now();
    record_ = HedgeRecord();
    flights_.clear();
    CallSession first(plan, deadline);
    const Decision began = first.Start();
    if (began.step != Step::kAttempt) {
      record_.reason = first.reason();
      record_.code = first.local_status()->code;
      return record_;
    }
    HedgeSession session(plan, deadline, delay, &first);
    Send(1, began.attempt_deadline, server);
    HedgeStep step = SendAll(session, session.Next(clock_.Now()), server);
    while (step.step != Step::kFinish) {
      step = SendAll(session, NextEvent(session, step), server);
    }
    record_.elapsed = clock_.Now() - start_;
    record_.cut_off = session.in_flight();
    record_.result = session.result();
    CallSession& decided = session.session(session.result());
    record_.attempts = decided.attempts();
    record_.reason = decided.reason();
    record_.budget_refused = session.budget_refused();
    if (decided.local_status()) {
      record_.code = decided.local_status()->code;
      record_.message = decided.local_status()->message;
    }
    while (!flights_.empty()) EndOne(session, 0, Fail(StatusCode::CANCELLED));
    return record_;
  }

 private:
  struct Flight {
    int number;
    TimePoint ends;
    Answer answer;
  };

  void Send(int number, const Deadline& deadline, const Server& server) {
    const TimePoint now = clock_.Now();
    record_.starts.push_back(now - start_);
    const auto limit = deadline.Remaining(now);
    record_.limits.push_back(limit);
    Answer answer = server(number);
    TimePoint ends = SaturatingAdd(now, answer.takes);
    if (limit && *limit < answer.takes) {
      answer = Fail(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
      ends = now + *limit;
    }
    flights_.push_back({number, ends, answer});
  }

  HedgeStep SendAll(HedgeSession& session, HedgeStep step,
                    const Server& server) {
    while (step.step == Step::kAttempt) {
      Send(step.attempt, step.attempt_deadline, server);
      step = session.Next(clock_.Now());
    }
    return step;
  }

  HedgeStep NextEvent(HedgeSession& session, const HedgeStep& step) {
    const auto first_end = std::min_element(
        flights_.begin(), flights_.end(),
        [](const Flight& a, const Flight& b) { return a.ends < b.ends; });
    TimePoint at = TimePoint::max();
    if (first_end != flights_.end()) at = first_end->ends;
    if (step.wait_until) at = std::min(at, *step.wait_until);
    if (cancel_after_ && start_ + *cancel_after_ < at) {
      clock_.Advance(start_ + *cancel_after_ - clock_.Now());
      cancel_after_.reset();
      session.OnCancel();
      for (Flight& flight : flights_) {
        flight.ends = clock_.Now();
        flight.answer = Fail(StatusCode::CANCELLED);
      }
      return session.Next(clock_.Now());
    }
    clock_.Advance(std::max(Duration::zero(), at - clock_.Now()));
    if (first_end != flights_.end() && first_end->ends == at) {
      const auto index = static_cast<std::size_t>(first_end - flights_.begin());
      return EndOne(session, index, first_end->answer);
    }
    return session.Next(clock_.Now());
  }

  HedgeStep EndOne(HedgeSession& session, std::size_t index, Answer answer) {
    const int number = flights_[index].number;
    flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(index));
    if (!session.finished()) {
      record_.code = answer.code;
      record_.message = answer.message;
    }
    return session.OnAttemptEnd(number, SessionDriver::EndOf(answer),
                                clock_.Now());
  }

  FakeClock& clock_;
  TimePoint start_;
  std::optional<Duration> cancel_after_;
  HedgeRecord record_;
  std::vector<Flight> flights_;
};

}  // namespace grpc_resilience::internal

// Plays a server and the time for a CallSession: what the adapter does with
// gRPC and a timer, on a fake clock.

#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/call_session.h"
#include "grpc_resilience/testing/fake_clock.h"

namespace grpc_resilience::internal {

/// What the server does with an attempt.
struct Answer {
  StatusCode code = StatusCode::OK;
  std::string message;
  Duration takes{0};
  std::optional<Pushback> pushback;
  ErrorOrigin origin = ErrorOrigin::kPeerOrTransport;
};

inline Answer Fail(StatusCode code, std::string message = "") {
  Answer answer;
  answer.code = code;
  answer.message = std::move(message);
  return answer;
}

inline Answer After(Duration takes, Answer answer = {}) {
  answer.takes = takes;
  return answer;
}

inline Answer Hang() { return After(Duration::max()); }

using Server = std::function<Answer(int attempt)>;

/// How a call went. Times count from its start.
struct CallRecord {
  int hits = 0;
  std::vector<Duration> starts;                 // of the attempts
  std::vector<std::optional<Duration>> limits;  // time each was given
  Duration elapsed{0};
  StopReason reason = StopReason::kOk;
  /// What the caller gets.
  StatusCode code = StatusCode::OK;
  std::string message;
  /// It is the library's own status, not the last attempt's.
  bool local = false;
};

class SessionDriver {
 public:
  explicit SessionDriver(FakeClock& clock) : clock_(clock) {}

  /// From Start to the end.
  CallRecord Run(CallSession& session, const Server& server) {
    record_ = CallRecord();
    start_ = clock_.Now();
    Decision decision = session.Start();
    while (decision.step != Step::kFinish) {
      if (decision.step == Step::kAttempt) {
        const Answer answer = Attempt(decision, server(decision.attempt));
        record_.code = answer.code;
        record_.message = answer.message;
        decision = session.OnAttemptEnd(EndOf(answer));
      } else {
        clock_.Advance(decision.wait_until - clock_.Now());
        decision = session.OnWaitOver();
      }
    }
    record_.elapsed = clock_.Now() - start_;
    record_.reason = session.reason();
    record_.local = session.local_status().has_value();
    if (record_.local) {
      record_.code = session.local_status()->code;
      record_.message = session.local_status()->message;
    }
    return record_;
  }

  static AttemptEnd EndOf(const Answer& answer) {
    AttemptEnd end;
    end.code = answer.code;
    end.message = answer.message;
    end.origin = answer.origin;
    end.pushback = answer.pushback;
    return end;
  }

 private:
  // Time passes; the attempt's deadline cuts the answer off, as gRPC does.
  Answer Attempt(const Decision& decision, Answer answer) {
    ++record_.hits;
    record_.starts.push_back(clock_.Now() - start_);
    const auto limit = decision.attempt_deadline.Remaining(clock_.Now());
    record_.limits.push_back(limit);
    if (limit && *limit < answer.takes) {
      clock_.Advance(*limit);
      return Fail(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
    }
    clock_.Advance(answer.takes);
    return answer;
  }

  FakeClock& clock_;
  TimePoint start_;
  CallRecord record_;
};

}  // namespace grpc_resilience::internal

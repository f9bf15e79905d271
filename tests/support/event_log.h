// Remembers what an observer is told.

#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "grpc_resilience/observer.h"

namespace grpc_resilience::test {

/// This type is safe to use from several threads at once.
class EventLog : public CallObserver {
 public:
  struct Attempt {
    std::string method;
    int number;
    StatusCode code;
    Classification classification;
  };
  struct Call {
    std::string method;
    int attempts;
    StatusCode code;
    StopReason reason;
  };

  void OnAttemptEnd(const AttemptEvent& event) override {
    std::lock_guard<std::mutex> lock(mu_);
    attempts_.push_back({std::string(event.method), event.number, event.code,
                         event.classification});
  }
  void OnCallEnd(const CallEvent& event) override {
    std::lock_guard<std::mutex> lock(mu_);
    calls_.push_back(
        {std::string(event.method), event.attempts, event.code, event.reason});
  }
  void OnTransition(const TransitionEvent& event) override {
    std::lock_guard<std::mutex> lock(mu_);
    transitions_.push_back(event);
  }
  void OnNotice(const NoticeEvent& event) override {
    std::lock_guard<std::mutex> lock(mu_);
    notices_.push_back(event);
  }

  std::vector<Attempt> attempts() const { return Copy(attempts_); }
  std::vector<Call> calls() const { return Copy(calls_); }
  std::vector<TransitionEvent> transitions() const {
    return Copy(transitions_);
  }
  std::vector<NoticeEvent> notices() const { return Copy(notices_); }

 private:
  template <typename List>
  List Copy(const List& list) const {
    std::lock_guard<std::mutex> lock(mu_);
    return list;
  }

  mutable std::mutex mu_;
  std::vector<Attempt> attempts_;
  std::vector<Call> calls_;
  std::vector<TransitionEvent> transitions_;
  std::vector<NoticeEvent> notices_;
};

}  // namespace grpc_resilience::test

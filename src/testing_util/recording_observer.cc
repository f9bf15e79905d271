#include "grpc_resilience/testing/recording_observer.h"

namespace grpc_resilience {

void RecordingObserver::OnAttemptEnd(const AttemptEvent& event) {
  absl::MutexLock lock(&mu_);
  attempts_.push_back({std::string(event.target), std::string(event.method),
                       event.number, event.code, event.classification,
                       event.duration});
}

void RecordingObserver::OnCallEnd(const CallEvent& event) {
  absl::MutexLock lock(&mu_);
  calls_.push_back({std::string(event.target), std::string(event.method),
                    event.attempts, event.code, event.reason, event.duration});
}

void RecordingObserver::OnTransition(const TransitionEvent& event) {
  absl::MutexLock lock(&mu_);
  transitions_.push_back(event);
}

void RecordingObserver::OnNotice(const NoticeEvent& event) {
  absl::MutexLock lock(&mu_);
  notices_.push_back(event);
}

std::vector<RecordedAttempt> RecordingObserver::attempts() const {
  absl::ReaderMutexLock lock(&mu_);
  return attempts_;
}

std::vector<RecordedCall> RecordingObserver::calls() const {
  absl::ReaderMutexLock lock(&mu_);
  return calls_;
}

std::vector<TransitionEvent> RecordingObserver::transitions() const {
  absl::ReaderMutexLock lock(&mu_);
  return transitions_;
}

std::vector<NoticeEvent> RecordingObserver::notices() const {
  absl::ReaderMutexLock lock(&mu_);
  return notices_;
}

void RecordingObserver::Clear() {
  absl::MutexLock lock(&mu_);
  attempts_.clear();
  calls_.clear();
  transitions_.clear();
  notices_.clear();
}

}  // namespace grpc_resilience

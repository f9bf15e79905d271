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
                    event.attempts, event.code, event.reason,
                    std::string(event.fallback), event.duration});
}

void RecordingObserver::OnBudgetRefusal(const BudgetRefusalEvent& /*event*/) {
  absl::MutexLock lock(&mu_);
  ++budget_refusals_;
}

void RecordingObserver::OnHedge(const HedgeEvent& /*event*/) {
  absl::MutexLock lock(&mu_);
  ++hedges_;
}

void RecordingObserver::OnFallback(const FallbackEvent& event) {
  absl::MutexLock lock(&mu_);
  fallbacks_.push_back({std::string(event.target), std::string(event.method),
                        std::string(event.kind), event.code, event.reason,
                        event.answered, event.duration});
}

void RecordingObserver::OnReplayBuffer(const ReplayBufferEvent& event) {
  absl::MutexLock lock(&mu_);
  replay_buffers_.push_back(
      {std::string(event.target), std::string(event.method), event.bytes,
       event.process_bytes, event.overflow, event.process_full});
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

std::vector<RecordedFallback> RecordingObserver::fallbacks() const {
  absl::ReaderMutexLock lock(&mu_);
  return fallbacks_;
}

std::vector<RecordedReplayBuffer> RecordingObserver::replay_buffers() const {
  absl::ReaderMutexLock lock(&mu_);
  return replay_buffers_;
}

std::vector<TransitionEvent> RecordingObserver::transitions() const {
  absl::ReaderMutexLock lock(&mu_);
  return transitions_;
}

std::vector<NoticeEvent> RecordingObserver::notices() const {
  absl::ReaderMutexLock lock(&mu_);
  return notices_;
}

int RecordingObserver::budget_refusals() const {
  absl::ReaderMutexLock lock(&mu_);
  return budget_refusals_;
}

int RecordingObserver::hedges() const {
  absl::ReaderMutexLock lock(&mu_);
  return hedges_;
}

void RecordingObserver::Clear() {
  absl::MutexLock lock(&mu_);
  budget_refusals_ = 0;
  hedges_ = 0;
  fallbacks_.clear();
  attempts_.clear();
  calls_.clear();
  replay_buffers_.clear();
  transitions_.clear();
  notices_.clear();
}

}  // namespace grpc_resilience

// Keeps everything that the library reports, for a test to look at.
//
//   auto observer = std::make_shared<RecordingObserver>();
//   resilience->AddObserver(observer);
//   ...
//   ASSERT_EQ(observer->calls().size(), 1u);
//   EXPECT_EQ(observer->calls()[0].attempts, 3);

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/observer.h"

namespace grpc_resilience {

/// An AttemptEvent that owns its strings. A value type.
struct RecordedAttempt {
  std::string target;
  std::string method;
  int number = 1;
  StatusCode code = StatusCode::OK;
  Classification classification;
  Duration duration{0};
};

/// A CallEvent that owns its strings. A value type.
struct RecordedCall {
  std::string target;
  std::string method;
  int attempts = 0;
  StatusCode code = StatusCode::OK;
  StopReason reason = StopReason::kOk;
  std::string fallback;
  Duration duration{0};
};

/// A FallbackEvent that owns its strings. A value type.
struct RecordedFallback {
  std::string target;
  std::string method;
  std::string kind;
  StatusCode code = StatusCode::OK;
  StopReason reason = StopReason::kOk;
  bool answered = false;
  Duration duration{0};
};

/// A ReplayBufferEvent that owns its strings. A value type.
struct RecordedReplayBuffer {
  std::string target;
  std::string method;
  std::int64_t bytes = 0;
  std::int64_t process_bytes = 0;
  bool overflow = false;
  bool process_full = false;
};

/// This type is safe to use from several threads at once.
class RecordingObserver : public CallObserver {
 public:
  void OnAttemptEnd(const AttemptEvent& event) override;
  void OnCallEnd(const CallEvent& event) override;
  void OnBudgetRefusal(const BudgetRefusalEvent& event) override;
  void OnHedge(const HedgeEvent& event) override;
  void OnFallback(const FallbackEvent& event) override;
  void OnReplayBuffer(const ReplayBufferEvent& event) override;
  void OnTransition(const TransitionEvent& event) override;
  void OnNotice(const NoticeEvent& event) override;

  /// Copies of what was heard so far, in order.
  std::vector<RecordedAttempt> attempts() const;
  std::vector<RecordedCall> calls() const;
  std::vector<RecordedFallback> fallbacks() const;
  std::vector<RecordedReplayBuffer> replay_buffers() const;
  std::vector<TransitionEvent> transitions() const;
  std::vector<NoticeEvent> notices() const;
  int budget_refusals() const;
  int hedges() const;

  /// Forgets everything.
  void Clear();

 private:
  mutable absl::Mutex mu_;
  std::vector<RecordedAttempt> attempts_ ABSL_GUARDED_BY(mu_);
  std::vector<RecordedCall> calls_ ABSL_GUARDED_BY(mu_);
  int budget_refusals_ ABSL_GUARDED_BY(mu_) = 0;
  int hedges_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<RecordedFallback> fallbacks_ ABSL_GUARDED_BY(mu_);
  std::vector<RecordedReplayBuffer> replay_buffers_ ABSL_GUARDED_BY(mu_);
  std::vector<TransitionEvent> transitions_ ABSL_GUARDED_BY(mu_);
  std::vector<NoticeEvent> notices_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

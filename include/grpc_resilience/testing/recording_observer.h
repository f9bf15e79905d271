// Keeps everything that the library reports, for a test to look at.
//
//   auto observer = std::make_shared<RecordingObserver>();
//   resilience->AddObserver(observer);
//   ...
//   ASSERT_EQ(observer->calls().size(), 1u);
//   EXPECT_EQ(observer->calls()[0].attempts, 3);

#pragma once

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
  Duration duration{0};
};

/// This type is safe to use from several threads at once.
class RecordingObserver : public CallObserver {
 public:
  void OnAttemptEnd(const AttemptEvent& event) override;
  void OnCallEnd(const CallEvent& event) override;
  void OnTransition(const TransitionEvent& event) override;
  void OnNotice(const NoticeEvent& event) override;

  /// Copies of what was heard so far, in order.
  std::vector<RecordedAttempt> attempts() const;
  std::vector<RecordedCall> calls() const;
  std::vector<TransitionEvent> transitions() const;
  std::vector<NoticeEvent> notices() const;

  /// Forgets everything.
  void Clear();

 private:
  mutable absl::Mutex mu_;
  std::vector<RecordedAttempt> attempts_ ABSL_GUARDED_BY(mu_);
  std::vector<RecordedCall> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<TransitionEvent> transitions_ ABSL_GUARDED_BY(mu_);
  std::vector<NoticeEvent> notices_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

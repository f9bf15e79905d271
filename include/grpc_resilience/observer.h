// Hears what the library does; metrics, logs and tests are built on it.
//
//   class Log : public CallObserver {
//     void OnTransition(const TransitionEvent& e) override { LOG(INFO) << e.why; }
//   };
//   resilience->AddObserver(std::make_shared<Log>());
//
// OnAttemptEnd and OnCallEnd run on the thread that ended the attempt or call
// (often a gRPC thread): they must be quick and never block. OnTransition and
// OnNotice run in order on one thread of the library's own, so they may take
// their time, ask the breaker and make calls. An exception that leaves an
// observer is swallowed.

#pragma once

#include <string_view>

#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience {

/// One attempt on the wire. The views are valid during the call only.
struct AttemptEvent {
  std::string_view target;
  std::string_view method;
  int number = 1;  ///< 1 is the first
  StatusCode code = StatusCode::OK;
  Classification classification;
  Duration duration{0};
};

/// One call of the application. The views are valid during the call only.
struct CallEvent {
  std::string_view target;
  std::string_view method;
  int attempts = 0;  ///< 0: rejected, cancelled or expired before the first
  StatusCode code = StatusCode::OK;
  StopReason reason = StopReason::kOk;
  Duration duration{0};
};

/// Something a developer should know, said once per method.
struct NoticeEvent {
  std::string target;
  std::string method;
  std::string text;
};

/// Implementations must be safe to use from several threads at once.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void OnAttemptEnd(const AttemptEvent& /*event*/) {}
  virtual void OnCallEnd(const CallEvent& /*event*/) {}
  virtual void OnTransition(const TransitionEvent& /*event*/) {}
  virtual void OnNotice(const NoticeEvent& /*event*/) {}
};

}  // namespace grpc_resilience

// Hears what the library does; metrics, logs and tests are built on it.
//
//   class Log : public CallObserver {
//     void OnTransition(const TransitionEvent& e) override { LOG(INFO) << e.why; }
//   };
//   resilience->AddObserver(std::make_shared<Log>());
//
// The events of calls run on the thread that caused them (often a gRPC thread):
// they must be quick and never block. OnTransition and
// OnNotice run in order on one thread of the library's own, so they may take
// their time, ask the breaker and make calls. An exception that leaves an
// observer is swallowed.

#pragma once

#include <cstdint>
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
  /// The kind of fallback that the caller was answered by, such as "stale_cache";
  /// empty: none. `code` and `reason` are those of the call that it stands for.
  std::string_view fallback;
  Duration duration{0};
};

/// A retry or a hedge that the retry throttle refused. The views are valid during
/// the call only.
struct BudgetRefusalEvent {
  std::string_view target;
  std::string_view method;
  int attempts = 0;  ///< made so far
};

/// An attempt that begins while earlier ones of its call are under way. The views
/// are valid during the call only.
struct HedgeEvent {
  std::string_view target;
  std::string_view method;
  int number = 2;  ///< of the attempt
};

/// A fallback that was asked for an answer. The views are valid during the call
/// only.
struct FallbackEvent {
  std::string_view target;
  std::string_view method;
  std::string_view kind;             ///< "stale_cache", "static_response", …
  StatusCode code = StatusCode::OK;  ///< of the call that failed
  StopReason reason = StopReason::kOk;
  bool answered = false;  ///< false: it declined, failed or took too long
  Duration duration{0};
};

/// A stream lets go of what it kept to send again: it is over, its caller has seen
/// something (COMMITTED), or it kept too much (REPLAY_BUFFER_FULL). The views are
/// valid during the call only.
struct ReplayBufferEvent {
  std::string_view target;
  std::string_view method;
  std::int64_t bytes = 0;          ///< the most that it kept
  std::int64_t process_bytes = 0;  ///< all streams of the process, now
  bool overflow = false;      ///< it isn't retried any more for want of room
  bool process_full = false;  ///< the limit was Config::max_replay_bytes
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
  /// False: only OnTransition and OnNotice are wanted, and calls take no time for
  /// it. Asked once, when the observer is added.
  virtual bool HearsCalls() const { return true; }
  virtual void OnAttemptEnd(const AttemptEvent& /*event*/) {}
  virtual void OnCallEnd(const CallEvent& /*event*/) {}
  virtual void OnBudgetRefusal(const BudgetRefusalEvent& /*event*/) {}
  virtual void OnHedge(const HedgeEvent& /*event*/) {}
  virtual void OnFallback(const FallbackEvent& /*event*/) {}
  virtual void OnReplayBuffer(const ReplayBufferEvent& /*event*/) {}
  virtual void OnTransition(const TransitionEvent& /*event*/) {}
  virtual void OnNotice(const NoticeEvent& /*event*/) {}
};

}  // namespace grpc_resilience

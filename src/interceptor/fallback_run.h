// Asks the fallbacks of a call that came to nothing, one after the other, until one
// answers or none is left.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "grpc_resilience/fallback.h"
#include "interceptor/call_mutex.h"
#include "interceptor/call_plan.h"

namespace grpc_resilience::internal {

/// What the fallbacks made of a call. A value type.
struct FallbackOutcome {
  /// Empty: none answered.
  std::optional<FallbackAnswer> answer;
  /// Of the source that answered; lives as long as the call's plan.
  std::string_view kind;
  /// "queue: the disk is full; function: …" of those that gave a reason.
  std::string declined;
};

/// Answers may come from any thread, after the call is over as well; one thread at a
/// time asks. This type is safe to use from several threads at once.
class FallbackRun : public std::enable_shared_from_this<FallbackRun> {
 public:
  class Owner {
   public:
    /// A source didn't answer at once and is about to be waited for; may come
    /// again, with the next one. Cancel may be called from within.
    virtual void OnFallbackSlow() = 0;
    /// On the thread that brought the last answer, once, if Start was false.
    virtual void OnFallbackOver() = 0;

   protected:
    ~Owner() = default;
  };

  /// `call.now` and `call.deadline` are set for each source; `overall` is the
  /// call's.
  FallbackRun(std::shared_ptr<const CallPlan> plan, FailedCall call,
              Deadline overall, Owner* owner);

  /// True: it is over already. False: the owner hears of it, and may have.
  bool Start() { return AskFrom(0); }

  /// Nobody wants the answer any more: whoever is waited for is not any longer, and
  /// nobody else is asked. Also from within a cancel pass: the owner hears of the end
  /// on the timer's thread.
  void Cancel();

  /// Once it is over.
  FallbackOutcome& outcome() { return outcome_; }

 private:
  class Asked;
  enum class Phase { kIdle, kAsking, kWaiting, kAnswered };

  bool AskFrom(std::size_t index);
  bool Ask(std::size_t index);
  bool Take(std::size_t index, FallbackAnswer answer);
  bool IsOver(std::size_t index) const;
  void OnTimeout(std::size_t index);
  void GoOn(std::size_t index, FallbackAnswer answer);
  bool Judge(std::size_t index, FallbackAnswer answer);
  std::shared_ptr<const FailedCall> CallFor(TimePoint now) const;

  const std::shared_ptr<const CallPlan> plan_;
  const FailedCall call_;
  const Deadline overall_;
  Owner* const owner_;

  // Of the thread that asks.
  TimePoint asked_at_;
  FallbackOutcome outcome_;

  mutable CallMutex mu_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kIdle;
  std::size_t turn_ ABSL_GUARDED_BY(mu_) = 0;
  FallbackAnswer answer_ ABSL_GUARDED_BY(mu_);  // within Start
  Timer::Id timer_id_ ABSL_GUARDED_BY(mu_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace grpc_resilience::internal

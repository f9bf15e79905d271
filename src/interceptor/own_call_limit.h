// Ends the caller's own call, as attempt 1, when the attempt's time is over. gRPC
// fixes the deadline of a call before an interceptor sees it, so this is a timer
// of ours; the server learns of the limit from the grpc-timeout header.
//
//   if (OwnCallLimit::Fits(*context, *metadata)) limit.emplace(...), limit->Arm();
//   ... at the call's end:
//   if (!limit->OnCallEnd()) return;  // Owner::OnLimitSettled goes on instead

#pragma once

#include <grpcpp/client_context.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "grpc_resilience/timer.h"

namespace grpc_resilience::internal {

/// Arm comes first; then the timer's thread and the thread that hears of the
/// call's end may meet here.
class OwnCallLimit {
 public:
  class Owner {
   public:
    /// On the timer's thread: the call had ended while the limit was at work on
    /// it, and may be gone from now on.
    virtual void OnLimitSettled() = 0;

   protected:
    ~Owner() = default;
  };
  using Metadata = std::multimap<std::string, std::string>;

  /// Only a call without a deadline, its own or a parent's: core would tell the
  /// server of that one.
  static bool Fits(const grpc::ClientContext& context,
                   const Metadata& metadata);

  OwnCallLimit(std::shared_ptr<Timer> timer, grpc::ClientContext* context,
               Owner* owner)
      : timer_(std::move(timer)), context_(context), owner_(owner) {}
  OwnCallLimit(const OwnCallLimit&) = delete;
  OwnCallLimit& operator=(const OwnCallLimit&) = delete;

  /// Before the call is sent: tells the server in `metadata`, and starts the time.
  void Arm(TimePoint now, TimePoint limit, Metadata* metadata);

  /// True: the limit won't touch the call any more. False: it is at it, and
  /// Owner::OnLimitSettled comes.
  bool OnCallEnd();

  /// Takes back what Arm added, for attempts with a time of their own.
  static void RemoveHeader(Metadata* metadata);

 private:
  enum class State { kArmed, kCallEnded, kCallCancelled };
  void OnTimer();

  const std::shared_ptr<Timer> timer_;
  grpc::ClientContext* const context_;
  Owner* const owner_;
  Timer::Id timer_id_ = 0;
  std::atomic<State> state_{State::kArmed};
};

}  // namespace grpc_resilience::internal

#include "admin/watch_stream.h"

#include <grpc/grpc.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "admin/grpc_status.h"
#include "admin/watch_hub.h"

namespace grpc_resilience::internal {
namespace {

// For the message under way when the service ends.
constexpr Duration kFarewell = std::chrono::seconds(1);

class RefusedStream : public WatchStream::Reactor {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

WatchStream::Reactor* WatchStream::Refuse(const grpc::Status& status) {
  return new RefusedStream(status);
}

WatchStream::Reactor* WatchStream::Start(std::shared_ptr<WatchHub> hub,
                                         WatchView view, Duration patience,
                                         grpc::CallbackServerContext* context) {
  WatchHub& watchers = *hub;
  const std::shared_ptr<WatchStream> stream(
      new WatchStream(std::move(hub), std::move(view), patience, context));
  stream->self_ = stream;
  const absl::Status added = watchers.Add(stream);
  if (!added.ok()) {
    stream->EndWith(ToGrpc(added));
  } else {
    stream->Tick();
  }
  return stream.get();
}

WatchStream::WatchStream(std::shared_ptr<WatchHub> hub, WatchView view,
                         Duration patience,
                         grpc::CallbackServerContext* context)
    : hub_(std::move(hub)),
      patience_(patience),
      context_(context),
      view_(std::move(view)) {}

// What is done to the call is done without the lock, because it may come back here;
// `writing_` and `aborting_` keep the call from being finished in between.
void WatchStream::Tick() {
  bool abort = false;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kFinished || aborted_) return;
    if (writing_) {
      if (std::chrono::steady_clock::now() < write_ends_) return;
      if (phase_ == Phase::kWatching) {
        ending_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                               "the watcher doesn't read");
      }
      phase_ = Phase::kEnding;
      aborted_ = aborting_ = abort = true;
    } else {
      std::optional<pb::WatchBreakersResponse> next = view_.Next();
      if (!next) return;
      message_ = *std::move(next);
      writing_ = true;
      write_ends_ = std::chrono::steady_clock::now() + patience_;
    }
  }
  if (abort) return Abort();
  StartWrite(&message_);
}

// A status that is sent in the usual way waits behind the message that isn't taken,
// and TryCancel always says CANCELLED.
void WatchStream::Abort() {
  grpc::Status status;
  {
    absl::MutexLock lock(&mu_);
    status = ending_;
  }
  grpc_call_cancel_with_status(
      context_->c_call(), static_cast<grpc_status_code>(status.error_code()),
      status.error_message().c_str(), nullptr);
  {
    absl::MutexLock lock(&mu_);
    aborting_ = false;
    if (writing_) return;  // whose end ends the call
    phase_ = Phase::kFinished;
  }
  Finish(status);
}

void WatchStream::OnWriteDone(bool ok) {
  grpc::Status status;
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (aborting_) return;
    if (!ok || phase_ != Phase::kWatching) {
      if (phase_ == Phase::kWatching) ending_ = grpc::Status::CANCELLED;
      status = ending_;
      phase_ = Phase::kFinished;
    }
  }
  if (status.ok()) return Tick();
  Finish(status);
}

void WatchStream::OnCancel() { EndWith(grpc::Status::CANCELLED); }

void WatchStream::End() {
  EndWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the service is ending"));
}

void WatchStream::EndWith(grpc::Status status) {
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kWatching) return;
    if (writing_) {  // whose end ends the call
      phase_ = Phase::kEnding;
      ending_ = std::move(status);
      write_ends_ =
          std::min(write_ends_, std::chrono::steady_clock::now() + kFarewell);
      return;
    }
    phase_ = Phase::kFinished;
  }
  Finish(status);
}

void WatchStream::OnDone() {
  hub_->Remove(self_);
  const std::shared_ptr<WatchStream> last = std::move(self_);
}

}  // namespace grpc_resilience::internal

#include "admin/watch_stream.h"

#include <grpcpp/server_context.h>

#include <optional>
#include <utility>

#include "admin/grpc_status.h"
#include "admin/watch_hub.h"

namespace grpc_resilience::internal {
namespace {

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
// `writing_` and `cancelling_` keep the call from being finished in between.
void WatchStream::Tick() {
  bool give_up = false;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kWatching) return;
    if (writing_) {
      if (std::chrono::steady_clock::now() - write_began_ < patience_) return;
      phase_ = Phase::kEnding;
      ending_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "the watcher doesn't read");
      cancelling_ = give_up = true;
    } else {
      std::optional<pb::WatchBreakersResponse> next = view_.Next();
      if (!next) return;
      message_ = *std::move(next);
      writing_ = true;
      write_began_ = std::chrono::steady_clock::now();
    }
  }
  if (give_up) return GiveUp();
  StartWrite(&message_);
}

void WatchStream::GiveUp() {
  context_->TryCancel();
  grpc::Status status;
  {
    absl::MutexLock lock(&mu_);
    cancelling_ = false;
    if (writing_) return;  // whose end ends the call
    phase_ = Phase::kFinished;
    status = ending_;
  }
  Finish(status);
}

void WatchStream::OnWriteDone(bool ok) {
  grpc::Status status;
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (cancelling_) return;
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

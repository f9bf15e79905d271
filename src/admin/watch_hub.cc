#include "admin/watch_hub.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "admin/messages.h"
#include "admin/watch_stream.h"

namespace grpc_resilience::internal {

void WatchHub::OnTransition(const TransitionEvent& event) {
  log_.Add(ToProto(event, WallTime(clock_)));
  std::shared_ptr<Ticker> ticker;
  {
    absl::MutexLock lock(&mu_);
    if (!streams_.empty()) ticker = ticker_;
  }
  if (ticker != nullptr) ticker->Soon();
}

void WatchHub::UseTicker(std::shared_ptr<Ticker> ticker) {
  absl::MutexLock lock(&mu_);
  ticker_ = std::move(ticker);
}

absl::Status WatchHub::Add(std::shared_ptr<WatchStream> stream) {
  std::shared_ptr<Ticker> ticker;
  {
    absl::MutexLock lock(&mu_);
    if (ended_) return absl::UnavailableError("the service is ending");
    if (streams_.size() >= most_watchers_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "there are ", streams_.size(), " watchers: no more at once"));
    }
    streams_.insert(std::move(stream));
    ticker = ticker_;
  }
  if (ticker != nullptr) ticker->Soon();
  return absl::OkStatus();
}

void WatchHub::Remove(const std::shared_ptr<WatchStream>& stream) {
  absl::MutexLock lock(&mu_);
  streams_.erase(stream);
}

bool WatchHub::Tick() {
  const auto streams = Streams();
  for (const std::shared_ptr<WatchStream>& stream : streams) stream->Tick();
  return !streams.empty();
}

void WatchHub::EndAll() {
  {
    absl::MutexLock lock(&mu_);
    ended_ = true;
  }
  for (const std::shared_ptr<WatchStream>& stream : Streams()) stream->End();
}

std::vector<std::shared_ptr<WatchStream>> WatchHub::Streams() const {
  absl::MutexLock lock(&mu_);
  return {streams_.begin(), streams_.end()};
}

}  // namespace grpc_resilience::internal

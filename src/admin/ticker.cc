#include "admin/ticker.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience::internal {

std::shared_ptr<Ticker> Ticker::Make(Pace pace, std::function<bool()> tick) {
  return std::shared_ptr<Ticker>(new Ticker(pace, std::move(tick)));
}

Ticker::Ticker(Pace pace, std::function<bool()> tick)
    : pace_(pace), tick_(std::move(tick)) {}

void Ticker::Soon() {
  std::unique_ptr<grpc::Alarm> replaced;
  absl::MutexLock lock(&mu_);
  if (ticking_) {
    again_soon_ = true;
    return;
  }
  const Time at = std::max(std::chrono::steady_clock::now(), earliest_);
  if (stopped_ || (armed_ && armed_for_ <= at)) return;
  replaced = ArmLocked(at);
}

void Ticker::Stop() {
  std::unique_ptr<grpc::Alarm> replaced;
  absl::MutexLock lock(&mu_);
  stopped_ = true;
  armed_ = false;
  ++ticket_;
  replaced = std::move(alarm_);
}

std::unique_ptr<grpc::Alarm> Ticker::ArmLocked(Time at) {
  armed_ = true;
  armed_for_ = at;
  const std::uint64_t ticket = ++ticket_;
  // A new one each time: an alarm can't be set again by its own function.
  std::unique_ptr<grpc::Alarm> replaced =
      std::exchange(alarm_, std::make_unique<grpc::Alarm>());
  const Duration wait =
      std::max<Duration>(at - std::chrono::steady_clock::now(), Duration(0));
  alarm_->Set(std::chrono::system_clock::now() + wait,
              [self = shared_from_this(), ticket](bool fired) {
                if (fired) self->Fire(ticket);
              });
  return replaced;
}

void Ticker::Fire(std::uint64_t ticket) {
  {
    absl::MutexLock lock(&mu_);
    if (stopped_ || ticket != ticket_) return;
    armed_ = false;
    ticking_ = true;
    again_soon_ = false;
  }
  const bool more = tick_();
  std::unique_ptr<grpc::Alarm> replaced;
  absl::MutexLock lock(&mu_);
  ticking_ = false;
  const Time now = std::chrono::steady_clock::now();
  earliest_ = now + pace_.gap;
  if (stopped_) return;
  if (again_soon_) {
    replaced = ArmLocked(earliest_);
  } else if (more) {
    replaced = ArmLocked(now + pace_.period);
  }
}

}  // namespace grpc_resilience::internal

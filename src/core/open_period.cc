#include "core/open_period.h"

#include <algorithm>
#include <chrono>

#include "core/transition_text.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kMinimumBeforeEarlyProbe = std::chrono::milliseconds(80);
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

static_assert(sizeof(OpenLine) == 64);
static_assert(std::atomic<TimePoint>::is_always_lock_free);

bool ProbeReady(const OpenLine& line, TimePoint now) {
  if (now >= line.probe_at.load(kRelaxed)) return true;
  return now >= line.early_probe_at.load(kRelaxed) &&
         line.rejected.load(kRelaxed) >=
             line.early_probe_rejected.load(kRelaxed);
}

bool MayBeReadySoon(const OpenLine& line, TimePoint coarse_now) {
  return ProbeReady(line, SaturatingAdd(coarse_now, Clock::kCoarseness));
}

Duration TimeUntilProbe(const OpenLine& line, TimePoint now) {
  if (ProbeReady(line, now)) return Duration::zero();
  return line.probe_at.load(kRelaxed) - now;
}

void OpenPeriod::Configure(const BackoffPolicy& policy,
                           std::optional<Duration> reset_after,
                           int early_after_rejections) {
  policy_ = policy;
  reset_after_ = reset_after;
  early_after_rejections_ = early_after_rejections;
}

void OpenPeriod::Start(TimePoint now) {
  if (closed_at_ &&
      now >= SaturatingAdd(*closed_at_, reset_after_.value_or(length_))) {
    Restart();
  }
  closed_at_.reset();
  made_ready_ = false;
  held_until_ = TimePoint::min();
  const bool early = early_after_rejections_ > 0;
  length_ = lengths_.Next(random_);
  rejected_before_ = line_.rejected.load(kRelaxed);
  line_.probe_at.store(SaturatingAdd(now, length_), kRelaxed);
  line_.early_probe_at.store(
      early ? SaturatingAdd(now, kMinimumBeforeEarlyProbe) : TimePoint::max(),
      kRelaxed);
  line_.early_probe_rejected.store(
      rejected_before_ +
          static_cast<std::uint64_t>(early ? early_after_rejections_ : 0),
      kRelaxed);
}

void OpenPeriod::HoldUntil(TimePoint now, TimePoint until) {
  held_until_ = std::max(held_until_, until);
  if (line_.early_probe_at.load(kRelaxed) < until) {
    line_.early_probe_at.store(until, kRelaxed);
  }
  if (until <= line_.probe_at.load(kRelaxed)) return;
  made_ready_ = false;
  length_ = until - now;
  line_.probe_at.store(until, kRelaxed);
}

void OpenPeriod::MakeReady() {
  if (line_.probe_at.load(kRelaxed) <= held_until_) return;
  made_ready_ = true;
  line_.probe_at.store(held_until_, kRelaxed);
}

std::string OpenPeriod::Why(TimePoint now) const {
  if (made_ready_) return "made ready for a probe";
  if (now >= line_.probe_at.load(kRelaxed)) return TimePassedText(length_);
  return CallsRejectedText(line_.rejected.load(kRelaxed) - rejected_before_);
}

}  // namespace grpc_resilience::internal

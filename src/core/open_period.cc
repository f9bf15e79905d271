#include "core/open_period.h"

#include <chrono>

#include "core/transition_text.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kMinimumBeforeEarlyProbe = std::chrono::milliseconds(80);
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

bool ProbeReady(const BreakerHotLine& hot, TimePoint now) {
  if (now >= hot.probe_at.load(kRelaxed)) return true;
  return now >= hot.early_probe_at.load(kRelaxed) &&
         hot.rejected.load(kRelaxed) >= hot.early_probe_rejected.load(kRelaxed);
}

Duration TimeUntilProbe(const BreakerHotLine& hot, TimePoint now) {
  if (ProbeReady(hot, now)) return Duration::zero();
  return hot.probe_at.load(kRelaxed) - now;
}

void OpenPeriod::Start(TimePoint now, int early_after_rejections) {
  const bool early = early_after_rejections > 0;
  length_ = lengths_.Next(random_);
  rejected_before_ = hot_.rejected.load(kRelaxed);
  hot_.probe_at.store(SaturatingAdd(now, length_), kRelaxed);
  hot_.early_probe_at.store(
      early ? SaturatingAdd(now, kMinimumBeforeEarlyProbe) : TimePoint::max(),
      kRelaxed);
  hot_.early_probe_rejected.store(
      rejected_before_ + (early ? early_after_rejections : 0), kRelaxed);
}

std::string OpenPeriod::Why(TimePoint now) const {
  if (now >= hot_.probe_at.load(kRelaxed)) return TimePassedText(length_);
  return CallsRejectedText(hot_.rejected.load(kRelaxed) - rejected_before_);
}

}  // namespace grpc_resilience::internal

#include "core/half_open_round.h"

#include <algorithm>
#include <cstddef>

namespace grpc_resilience::internal {

void HalfOpenRound::Start() {
  probes_.clear();
  succeeded_ = 0;
}

std::uint64_t HalfOpenRound::Admit(TimePoint now) {
  probes_.push_back({++last_number_, now});
  return last_number_;
}

bool HalfOpenRound::Finish(std::uint64_t probe) {
  const auto found = std::lower_bound(
      probes_.begin(), probes_.end(), probe,
      [](const Probe& p, std::uint64_t number) { return p.number < number; });
  if (found == probes_.end() || found->number != probe) return false;
  probes_.erase(found);
  return true;
}

void HalfOpenRound::DropLost(TimePoint now, Duration max_wait) {
  probes_.erase(probes_.begin(), probes_.begin() + LostCount(now, max_wait));
}

int HalfOpenRound::InFlightAfterDrop(TimePoint now, Duration max_wait) const {
  return static_cast<int>(probes_.size()) -
         static_cast<int>(LostCount(now, max_wait));
}

std::ptrdiff_t HalfOpenRound::LostCount(TimePoint now,
                                        Duration max_wait) const {
  std::ptrdiff_t lost = 0;
  while (lost < static_cast<std::ptrdiff_t>(probes_.size()) &&
         now >= SaturatingAdd(probes_[lost].admitted_at, max_wait)) {
    ++lost;
  }
  return lost;
}

}  // namespace grpc_resilience::internal

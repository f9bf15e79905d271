#include "admin/transition_log.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience::internal {

void TransitionLog::Add(admin::v1::Transition transition) {
  auto entry =
      std::make_shared<const admin::v1::Transition>(std::move(transition));
  absl::MutexLock lock(&mu_);
  entries_.push_back(std::move(entry));
  if (entries_.size() <= capacity_) return;
  entries_.pop_front();
  ++first_;
}

std::uint64_t TransitionLog::end() const {
  absl::ReaderMutexLock lock(&mu_);
  return first_ + entries_.size();
}

TransitionLog::Part TransitionLog::Read(std::uint64_t from,
                                        std::size_t most) const {
  Part part;
  absl::ReaderMutexLock lock(&mu_);
  const std::uint64_t end = first_ + entries_.size();
  if (from < first_) {
    part.missed = end - from;
    part.next = end;
    return part;
  }
  part.next = std::min<std::uint64_t>(end, from + most);
  for (std::uint64_t i = from; i < part.next; ++i) {
    part.entries.push_back(entries_[static_cast<std::size_t>(i - first_)]);
  }
  return part;
}

}  // namespace grpc_resilience::internal

#include "core/custom_keys.h"

#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

BreakerKey CustomKeys::KeyOf(const std::string& custom,
                             std::string_view target) {
  BreakerKey key;
  absl::MutexLock lock(&mu_);
  const bool overflow =
      custom == kOverflowKey ||
      (targets_.size() >= max_keys_ && !targets_.contains(custom));
  if (overflow) {
    if (!overflowed_) overflow_target_ = std::string(target);
    overflowed_ = true;
    key.custom = std::string(kOverflowKey);
  } else {
    targets_.try_emplace(custom, target);
    key.custom = custom;
  }
  return key;
}

std::string CustomKeys::TargetOf(const std::string& custom) const {
  absl::ReaderMutexLock lock(&mu_);
  if (custom == kOverflowKey) return overflow_target_;
  const auto found = targets_.find(custom);
  return found == targets_.end() ? std::string() : found->second;
}

void CustomKeys::SetLimit(std::size_t max_keys) {
  absl::MutexLock lock(&mu_);
  max_keys_ = max_keys;
}

}  // namespace grpc_resilience::internal

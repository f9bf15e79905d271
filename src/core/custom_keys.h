// The results of key functions that have breakers of their own: which target
// brought each, and no more of them than allowed.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class CustomKeys {
 public:
  explicit CustomKeys(std::size_t max_keys) : max_keys_(max_keys) {}

  /// The breaker's key for the function's result `custom`; beyond the limit the
  /// key that all others share.
  BreakerKey KeyOf(const std::string& custom, std::string_view target);
  /// The target whose settings the breaker of `custom` has; empty when no call
  /// has brought it.
  std::string TargetOf(const std::string& custom) const;
  /// A smaller limit forgets no key.
  void SetLimit(std::size_t max_keys);

 private:
  mutable absl::Mutex mu_;
  std::size_t max_keys_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::string> targets_ ABSL_GUARDED_BY(mu_);
  /// Of the key beyond the limit.
  std::string overflow_target_ ABSL_GUARDED_BY(mu_);
  bool overflowed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace grpc_resilience::internal

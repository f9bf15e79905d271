// The last transitions of all breakers, read by any number of watchers at their own
// pace. Bounded however many watch and however slowly: who is too late is told how
// many it missed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/admin/v1/breaker.pb.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class TransitionLog {
 public:
  using Entry = std::shared_ptr<const admin::v1::Transition>;

  explicit TransitionLog(std::size_t capacity) : capacity_(capacity) {}

  void Add(admin::v1::Transition transition) ABSL_LOCKS_EXCLUDED(mu_);

  /// The position after the last entry.
  std::uint64_t end() const ABSL_LOCKS_EXCLUDED(mu_);

  struct Part {
    std::uint64_t missed = 0;  ///< no longer there; then there are no entries
    std::vector<Entry> entries;
    std::uint64_t next = 0;  ///< where to go on
  };
  Part Read(std::uint64_t from, std::size_t most) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::size_t capacity_;
  mutable absl::Mutex mu_;
  std::uint64_t first_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

// How often refused callers may fill the log: a few at once, then one a second.

#pragma once

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class RefusalLimit {
 public:
  static constexpr int kAtOnce = 10;
  static constexpr Duration kEvery = std::chrono::seconds(1);

  /// Unset: not to be logged. Else how many weren't, since the last one that was.
  std::optional<std::uint64_t> Admit(TimePoint now) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Mutex mu_;
  // One more is allowed at each kEvery; full when this lies kAtOnce of them back.
  std::optional<TimePoint> used_up_to_ ABSL_GUARDED_BY(mu_);
  std::uint64_t held_back_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal

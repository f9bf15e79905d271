// The values that one label may have: a bounded number, and "other".

#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/metric_names.h"
#include "prometheus/insert_only_table.h"

namespace grpc_resilience::internal {

/// Immutable, so safe to use from several threads at once.
struct LabelName {
  bool Matches(std::string_view other) const { return name == other; }

  const std::string name;
  /// What is shown: escaped, because one byte that isn't UTF-8 costs Prometheus
  /// the whole scrape.
  const std::string text;
};

/// This type is safe to use from several threads at once. What it returns lives as
/// long as it.
class LabelNames {
 public:
  explicit LabelNames(std::size_t most) : most_(most), names_(most) {}

  /// "other" when it isn't there. No lock, no write.
  const LabelName& Find(std::string_view name) const;
  /// "other" when there is no room.
  const LabelName& FindOrAdd(std::string_view name) ABSL_LOCKS_EXCLUDED(mu_);
  const LabelName& other() const { return other_; }

 private:
  const std::size_t most_;
  const LabelName other_{kOtherLabel, kOtherLabel};
  std::atomic<bool> full_{false};
  absl::Mutex mu_;
  std::size_t size_ ABSL_GUARDED_BY(mu_) = 0;
  // Finding needs no lock; inserting needs mu_.
  InsertOnlyTable<const LabelName> names_;
};

}  // namespace grpc_resilience::internal

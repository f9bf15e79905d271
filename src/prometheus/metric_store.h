// All series: those of calls by target and method, those of breakers.

#pragma once

#include <prometheus/metric_family.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/config.h"
#include "grpc_resilience/prometheus_observer.h"
#include "prometheus/breaker_series.h"
#include "prometheus/call_series.h"
#include "prometheus/insert_only_table.h"
#include "prometheus/label_names.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class MetricStore {
 public:
  MetricStore(std::weak_ptr<Resilience> resilience,
              const PrometheusOptions& options);

  /// Of a call; makes it at the first one. No lock, no allocation later on.
  CallSeries& SeriesOf(std::string_view target, std::string_view method)
      ABSL_LOCKS_EXCLUDED(pairs_mu_);
  void CountTransition(const TransitionEvent& event);

  std::vector<prometheus::MetricFamily> Collect() ABSL_LOCKS_EXCLUDED(mu_);
  std::size_t max_series() const;

 private:
  /// Makes the series of everything that is named anywhere.
  void MakeNamed(const Config& config) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeNamedTarget(const Config& config, std::string_view target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  CallSeries& Pair(const LabelName& target, const LabelName& method)
      ABSL_LOCKS_EXCLUDED(pairs_mu_);
  std::vector<CallSeries*> Pairs() const ABSL_LOCKS_EXCLUDED(pairs_mu_);

  const std::uint64_t number_;
  const std::weak_ptr<Resilience> resilience_;
  const PrometheusOptions options_;
  const DurationBuckets buckets_;
  LabelNames targets_;
  LabelNames methods_;

  std::atomic<bool> pairs_full_{false};
  mutable absl::Mutex pairs_mu_ ABSL_ACQUIRED_AFTER(mu_);
  std::size_t pairs_size_ ABSL_GUARDED_BY(pairs_mu_) = 0;
  // Finding needs no lock; inserting, and looking at all, needs pairs_mu_.
  InsertOnlyTable<CallSeries> pairs_;

  BreakerSeriesTable breakers_;
  // One Collect at a time.
  absl::Mutex mu_;
  std::uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal

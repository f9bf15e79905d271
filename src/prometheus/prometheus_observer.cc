#include "grpc_resilience/prometheus_observer.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "core/fault_list.h"
#include "core/method_pattern.h"
#include "prometheus/metric_store.h"

namespace grpc_resilience {
namespace {

using internal::FaultLines;
using internal::FaultsOf;

constexpr std::size_t kMostBuckets = 200;

void CheckBuckets(const std::vector<double>& buckets, FaultsOf* faults) {
  if (buckets.size() > kMostBuckets) {
    faults->Add("duration_buckets", absl::StrCat(buckets.size(), " bounds"),
                absl::StrCat("at most ", kMostBuckets));
  }
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    // A million seconds is longer than any call, and fits nanoseconds.
    const bool in_range =
        std::isfinite(buckets[i]) && buckets[i] >= 0 && buckets[i] <= 1e6;
    if (!in_range) {
      faults->Add(absl::StrCat("duration_buckets[", i, "]"),
                  absl::StrCat(buckets[i]), "must be in [0, 1000000] s");
    } else if (i > 0 && !(buckets[i] > buckets[i - 1])) {
      faults->Add(absl::StrCat("duration_buckets[", i, "]"),
                  absl::StrCat(buckets[i]), "must be more than the one before");
    }
  }
}

absl::Status Validate(const PrometheusOptions& options) {
  FaultLines lines;
  FaultsOf faults("PrometheusOptions", &lines);
  faults.InRange("max_targets", options.max_targets, 1, 100000);
  faults.InRange("max_methods", options.max_methods, 1, 100000);
  faults.InRange("max_pairs", options.max_pairs, 1, 10000);
  faults.InRange("max_breakers", options.max_breakers, 1, 100000);
  for (const std::string& method : options.methods) {
    if (!internal::IsMethodPattern(method) || internal::IsWildcard(method)) {
      faults.Add("methods", absl::StrCat("\"", method, "\""),
                 "must be \"/pkg.Service/Method\"");
    }
  }
  CheckBuckets(options.duration_buckets, &faults);
  if (lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<PrometheusObserver>> PrometheusObserver::Create(
    const std::shared_ptr<Resilience>& resilience,
    const PrometheusOptions& options) {
  if (resilience == nullptr) {
    return absl::InvalidArgumentError("resilience must be set");
  }
  if (absl::Status status = Validate(options); !status.ok()) return status;
  std::shared_ptr<PrometheusObserver> observer(
      new PrometheusObserver(resilience, options));
  resilience->AddObserver(observer);
  return observer;
}

PrometheusObserver::PrometheusObserver(
    const std::shared_ptr<Resilience>& resilience,
    const PrometheusOptions& options)
    : store_(std::make_unique<internal::MetricStore>(resilience, options)) {}

PrometheusObserver::~PrometheusObserver() = default;

std::vector<prometheus::MetricFamily> PrometheusObserver::Collect() const {
  return store_->Collect();
}

std::size_t PrometheusObserver::max_series() const {
  return store_->max_series();
}

void PrometheusObserver::OnAttemptEnd(const AttemptEvent& event) {
  store_->SeriesOf(event.target, event.method).Count(event);
}

void PrometheusObserver::OnCallEnd(const CallEvent& event) {
  store_->SeriesOf(event.target, event.method).Count(event);
}

void PrometheusObserver::OnBudgetRefusal(const BudgetRefusalEvent& event) {
  store_->SeriesOf(event.target, event.method).Count(event);
}

void PrometheusObserver::OnHedge(const HedgeEvent& event) {
  store_->SeriesOf(event.target, event.method).Count(event);
}

void PrometheusObserver::OnFallback(const FallbackEvent& event) {
  store_->SeriesOf(event.target, event.method).Count(event);
}

void PrometheusObserver::OnTransition(const TransitionEvent& event) {
  store_->CountTransition(event);
}

}  // namespace grpc_resilience

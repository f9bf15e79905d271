// Everything that the library reports, as metrics for Prometheus (component
// `prometheus`).
//
//   auto metrics = PrometheusObserver::Create(resilience);
//   if (!metrics.ok()) { std::cerr << metrics.status(); return 1; }
//   prometheus::Exposer exposer("127.0.0.1:9464");  // or a server of your own
//   exposer.RegisterCollectable(*metrics);
//
// Opens no port and starts no thread. Calls are counted as they end, in counters
// of which each thread has its own share: no lock, no allocation, no line that
// other threads write. What a breaker knows is read from it when metrics are
// collected.
//
// However many targets and methods are called, there are never more than
// max_series() series: a method is a label only when the Config or the options
// name it exactly ("/pkg.Service/Method"), others are "other", as are targets
// beyond max_targets. The address of a peer is no label.

#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpc_resilience/observer.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience {

namespace internal {
class MetricStore;
}  // namespace internal

/// A value type.
struct PrometheusOptions {
  /// Targets, beside those that the Config names, whose series exist from the
  /// start. Any other has series from its first call on.
  std::vector<std::string> targets;
  /// Methods ("/pkg.Service/Method"), beside those that the Config names, with
  /// series of their own.
  std::vector<std::string> methods;

  /// Different targets as a label; later ones are "other".
  /// Range: [1, 100000]. Default: 100.
  int max_targets = 100;
  /// Different methods as a label; later ones are "other".
  /// Range: [1, 100000]. Default: 100.
  int max_methods = 100;
  /// Pairs of target and method with series of their own; later ones are counted
  /// together, target and method "other". Range: [1, 10000]. Default: 200.
  int max_pairs = 200;
  /// Breakers with series of their own; later ones are shown together as target
  /// "other". Range: [1, 100000]. Default: 200.
  int max_breakers = 200;

  /// Upper bounds of the histograms' buckets in seconds. Range: 1 to 200, growing,
  /// ≥ 0. Default empty: those of gRFC A66, 0 to 100 s.
  std::vector<double> duration_buckets;
};

/// This type is safe to use from several threads at once.
class PrometheusObserver final : public CallObserver,
                                 public prometheus::Collectable {
 public:
  /// Makes one that hears of everything from now on: the Resilience holds it and
  /// is not held by it. INVALID_ARGUMENT names every fault of the options.
  static absl::StatusOr<std::shared_ptr<PrometheusObserver>> Create(
      const std::shared_ptr<Resilience>& resilience,
      const PrometheusOptions& options = {});
  ~PrometheusObserver() override;

  /// Names that came with Resilience::Update are known from the next Collect on.
  /// Looks at every breaker, a moment each; calls don't wait for it.
  std::vector<prometheus::MetricFamily> Collect() const override;

  /// Never more than this many series, by the options: the bucket, sum and count
  /// series of the histograms are counted.
  std::size_t max_series() const;

  void OnAttemptEnd(const AttemptEvent& event) override;
  void OnCallEnd(const CallEvent& event) override;
  void OnBudgetRefusal(const BudgetRefusalEvent& event) override;
  void OnHedge(const HedgeEvent& event) override;
  void OnFallback(const FallbackEvent& event) override;
  void OnTransition(const TransitionEvent& event) override;

 private:
  PrometheusObserver(const std::shared_ptr<Resilience>& resilience,
                     const PrometheusOptions& options);

  const std::unique_ptr<internal::MetricStore> store_;
};

}  // namespace grpc_resilience

// Times one scrape of a process with very many breakers: collecting, and with it
// writing the text that Prometheus reads. Prints "<contestant> <median ms of
// collecting> <median ms with the text> <series>".

#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <iostream>
#include <string>
#include <vector>

#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/prometheus_observer.h"

namespace bench = grpc_resilience::bench;

namespace {

std::string TargetName(int number) {
  return "10.20.30.40:" + std::to_string(10000 + number);
}

void Measure(const char* name, const prometheus::Collectable& collectable,
             int rounds) {
  std::vector<double> collect;
  std::vector<double> with_text;
  std::size_t series = 0;
  for (int round = 0; round < rounds; ++round) {
    const bench::Stopwatch watch;
    const auto families = collectable.Collect();
    collect.push_back(watch.Nanoseconds() / 1e6);
    const std::string text = prometheus::TextSerializer().Serialize(families);
    with_text.push_back(watch.Nanoseconds() / 1e6);
    series = 0;
    for (const auto& family : families) series += family.metric.size();
    if (text.empty()) bench::Malfunction("nothing is collected");
  }
  std::cout << name << ' ' << bench::Percentile(collect, 0.5) << ' '
            << bench::Percentile(with_text, 0.5) << ' ' << series << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_metrics_scrape BREAKERS ROUNDS";
  if (argc != 3) bench::WrongUsage(kUsage);
  const int breakers = bench::PositiveNumber(argv[1], kUsage);
  const int rounds = bench::PositiveNumber(argv[2], kUsage);

  grpc_resilience::Config config;
  config.max_breakers = breakers;
  const auto resilience =
      grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  for (int i = 0; i < breakers; ++i) {
    const auto breaker =
        (*resilience)->registry().GetOrCreate({TargetName(i), ""});
    // Each has been used and has something to tell.
    breaker->TryAcquire()->Record(grpc_resilience::Outcome::kFailure,
                                  grpc_resilience::StatusCode::UNAVAILABLE);
  }
  grpc_resilience::PrometheusOptions each;
  each.max_targets = breakers;
  each.max_breakers = breakers;
  const auto ours_each =
      grpc_resilience::PrometheusObserver::Create(*resilience, each);
  const auto ours = grpc_resilience::PrometheusObserver::Create(*resilience);
  if (!ours_each.ok() || !ours.ok()) bench::Malfunction("no observer");

  // As many series of prometheus-cpp's own.
  prometheus::Registry registry;
  auto& family = prometheus::BuildGauge().Name("gauge").Register(registry);
  for (int i = 0; i < breakers; ++i) {
    for (int series = 0; series < 30; ++series) {
      family.Add({{"target", TargetName(i)},
                  {"state", "state " + std::to_string(series)}});
    }
  }
  Measure("ours_each", **ours_each, rounds);
  Measure("ours", **ours, rounds);
  Measure("prometheus_gauges", registry, rounds);
  return 0;
}

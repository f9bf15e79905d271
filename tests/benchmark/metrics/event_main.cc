// Times what one successful call counts: an attempt, a call, and the duration of
// each. Prints for each scenario and contestant the median of the rounds and their
// spread, in nanoseconds.

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <iostream>
#include <memory>
#include <string>

#include "benchmark/breaker/contest.h"
#include "benchmark/usage.h"
#include "grpc_resilience/prometheus_observer.h"
#include "prometheus/duration_buckets.h"

namespace bench = grpc_resilience::bench;
using grpc_resilience::AttemptEvent;
using grpc_resilience::CallEvent;

namespace {

const std::string kTarget = "payments.shop.example.com:443";
const std::string kMethod = "/shop.payments.v1.Payments/GetPayment";
constexpr std::chrono::microseconds kDuration(1234);

/// Tells the observer of calls of `method`.
bench::MakeCalls Ours(const std::string& method) {
  grpc_resilience::Config config;
  config.Target(kTarget);
  config.Method(kMethod);
  const auto resilience =
      grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  const auto metrics = grpc_resilience::PrometheusObserver::Create(*resilience);
  if (!metrics.ok()) bench::Malfunction(metrics.status().ToString());
  return [observer = *metrics, method](std::int64_t calls) {
    AttemptEvent attempt;
    attempt.target = kTarget;
    attempt.method = method;
    attempt.duration = kDuration;
    CallEvent call;
    call.target = kTarget;
    call.method = method;
    call.attempts = 1;
    call.duration = kDuration;
    grpc_resilience::CallObserver& hears = *observer;
    for (std::int64_t i = 0; i < calls; ++i) {
      hears.OnAttemptEnd(attempt);
      hears.OnCallEnd(call);
    }
  };
}

/// The same with prometheus-cpp's own metrics.
struct Peer {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& attempts =
      prometheus::BuildCounter().Name("attempts_total").Register(registry);
  prometheus::Family<prometheus::Counter>& calls =
      prometheus::BuildCounter().Name("calls_total").Register(registry);
  prometheus::Family<prometheus::Histogram>& attempt_seconds =
      prometheus::BuildHistogram().Name("attempt_seconds").Register(registry);
  prometheus::Family<prometheus::Histogram>& call_seconds =
      prometheus::BuildHistogram().Name("call_seconds").Register(registry);
  const std::vector<double> bounds =
      grpc_resilience::internal::A66DurationBuckets();
};

/// Finds them by their labels for each event, as who has only names must.
bench::MakeCalls FamilyLookup() {
  return [peer = std::make_shared<Peer>()](std::int64_t calls) {
    const double seconds = std::chrono::duration<double>(kDuration).count();
    for (std::int64_t i = 0; i < calls; ++i) {
      const prometheus::Labels labels = {{"target", kTarget},
                                         {"method", kMethod}};
      prometheus::Labels with_code = labels;
      with_code["code"] = "OK";
      peer->attempts.Add(with_code).Increment();
      peer->attempt_seconds.Add(labels, peer->bounds).Observe(seconds);
      peer->calls.Add(with_code).Increment();
      peer->call_seconds.Add(labels, peer->bounds).Observe(seconds);
    }
  };
}

/// Has them at hand, as who counts one method of one target may.
bench::MakeCalls HeldMetrics() {
  auto peer = std::make_shared<Peer>();
  const prometheus::Labels labels = {{"target", kTarget}, {"method", kMethod}};
  auto& attempts = peer->attempts.Add(labels);
  auto& calls_made = peer->calls.Add(labels);
  auto& attempt_seconds = peer->attempt_seconds.Add(labels, peer->bounds);
  auto& call_seconds = peer->call_seconds.Add(labels, peer->bounds);
  return [peer, &attempts, &calls_made, &attempt_seconds,
          &call_seconds](std::int64_t calls) {
    const double seconds = std::chrono::duration<double>(kDuration).count();
    for (std::int64_t i = 0; i < calls; ++i) {
      attempts.Increment();
      attempt_seconds.Observe(seconds);
      calls_made.Increment();
      call_seconds.Observe(seconds);
    }
  };
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_metrics_event ROUNDS MICROSECONDS_PER_ROUND";
  if (argc != 3) bench::WrongUsage(kUsage);
  const int rounds = bench::PositiveNumber(argv[1], kUsage);
  const double round_ns = 1000.0 * bench::PositiveNumber(argv[2], kUsage);
  for (const int threads : {1, 2}) {
    bench::Contest contest(threads, rounds, round_ns);
    contest.Add("ours", Ours(kMethod));
    contest.Add("ours_again", Ours(kMethod));
    contest.Add("ours_other_method", Ours("/nobody.Named/This"));
    contest.Add("family_lookup", FamilyLookup());
    contest.Add("held_metrics", HeldMetrics());
    for (const bench::Result& result : contest.Run()) {
      std::cout << "metrics_event_" << threads << "t " << result.name << ' '
                << result.median_ns << ' ' << result.spread_ns << std::endl;
    }
  }
  return 0;
}

#include "prometheus/metric_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "grpc_resilience/metric_names.h"

namespace grpc_resilience::internal {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr OperatorMode kModes[] = {
    OperatorMode::kAuto, OperatorMode::kForcedOpen, OperatorMode::kForcedClosed,
    OperatorMode::kShadow};
constexpr std::size_t kModeCount = sizeof(kModes) / sizeof(kModes[0]);
constexpr State kAllStates[] = {State::kClosed, State::kOpen, State::kHalfOpen};

using Labels = std::vector<ClientMetric::Label>;

// "HALF_OPEN" as a label's value is "half_open".
template <typename Enum>
std::string Lower(Enum value) {
  const std::string_view text = ToString(value);
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

/// One family and how to add to it.
class Family {
 public:
  Family(const char* name, const char* help, MetricType type,
         std::size_t metrics) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
    family_.metric.reserve(metrics);
  }

  void Counter(Labels labels, std::uint64_t count) {
    Add(std::move(labels)).counter.value = static_cast<double>(count);
  }
  void Gauge(Labels labels, double value) {
    Add(std::move(labels)).gauge.value = value;
  }
  void Histogram(Labels labels, const HistogramTotals& totals,
                 const DurationBuckets& buckets) {
    ClientMetric::Histogram& histogram = Add(std::move(labels)).histogram;
    histogram.bucket.reserve(totals.by_bucket.size());
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < totals.by_bucket.size(); ++i) {
      count += totals.by_bucket[i];
      const bool last = i == buckets.seconds().size();
      histogram.bucket.push_back(
          {count, last ? std::numeric_limits<double>::infinity()
                       : buckets.seconds()[i]});
    }
    histogram.sample_count = count;
    histogram.sample_sum = static_cast<double>(totals.nanoseconds) / 1e9;
  }

  MetricFamily Take() { return std::move(family_); }

 private:
  ClientMetric& Add(Labels labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  MetricFamily family_;
};

Labels LabelsOf(const CallReading& reading,
                std::initializer_list<ClientMetric::Label> more = {}) {
  Labels labels;
  labels.reserve(2 + more.size());
  labels.push_back({"target", reading.target});
  labels.push_back({"method", reading.method});
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

Labels LabelsOf(const BreakerSeries& series,
                std::initializer_list<ClientMetric::Label> more = {}) {
  Labels labels;
  labels.reserve(2 + more.size());
  if (!series.target().empty()) labels.push_back({"target", series.target()});
  if (!series.method().empty()) labels.push_back({"method", series.method()});
  if (!series.key().empty()) labels.push_back({"key", series.key()});
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

using ByCode = std::array<std::uint64_t, kCodes>;
MetricFamily WriteByCode(const char* name, const char* help,
                         const std::vector<CallReading>& readings,
                         ByCode CallTotals::*counts) {
  Family family(name, help, MetricType::Counter, readings.size() * kCodes);
  for (const CallReading& reading : readings) {
    const ByCode& by_code = reading.totals.*counts;
    for (std::size_t code = 0; code < kCodes; ++code) {
      family.Counter(LabelsOf(reading, {{"code", CodeLabel(code)}}),
                     by_code[code]);
    }
  }
  return family.Take();
}

MetricFamily WriteCounter(const char* name, const char* help,
                          const std::vector<CallReading>& readings,
                          std::uint64_t CallTotals::*count) {
  Family family(name, help, MetricType::Counter, readings.size());
  for (const CallReading& reading : readings) {
    family.Counter(LabelsOf(reading), reading.totals.*count);
  }
  return family.Take();
}

MetricFamily WriteFallbacks(const std::vector<CallReading>& readings) {
  Family family(kFallbacksMetric,
                "Fallbacks that were asked for an answer, by kind and result.",
                MetricType::Counter,
                readings.size() * 2 * kFallbackKinds.size());
  for (const CallReading& reading : readings) {
    for (std::size_t i = 0; i < kFallbackKinds.size(); ++i) {
      const std::string kind(kFallbackKinds[i]);
      family.Counter(
          LabelsOf(reading, {{"kind", kind}, {"result", "answered"}}),
          reading.totals.fallbacks_answered[i]);
      family.Counter(LabelsOf(reading, {{"kind", kind}, {"result", "failed"}}),
                     reading.totals.fallbacks_failed[i]);
    }
  }
  return family.Take();
}

MetricFamily WriteHistogram(const char* name, const char* help,
                            const std::vector<CallReading>& readings,
                            const DurationBuckets& buckets,
                            HistogramTotals CallTotals::*totals) {
  Family family(name, help, MetricType::Histogram, readings.size());
  for (const CallReading& reading : readings) {
    family.Histogram(LabelsOf(reading), reading.totals.*totals, buckets);
  }
  return family.Take();
}

// One series for each value, of which one is 1.
template <typename Enum, std::size_t n>
MetricFamily WriteOneOf(const char* name, const char* help, const char* label,
                        const Enum (&values)[n],
                        const std::vector<BreakerSeries*>& all,
                        Enum (BreakerSeries::*value)() const) {
  Family family(name, help, MetricType::Gauge, all.size() * n);
  for (const BreakerSeries* series : all) {
    for (const Enum candidate : values) {
      family.Gauge(LabelsOf(*series, {{label, Lower(candidate)}}),
                   (series->*value)() == candidate ? 1 : 0);
    }
  }
  return family.Take();
}

MetricFamily WriteTransitions(const std::vector<BreakerSeries*>& all) {
  Family family(kBreakerTransitionsMetric,
                "Transitions of circuit breakers; an operator's change of mode "
                "leaves the state.",
                MetricType::Counter, all.size() * kTransitionKinds);
  for (const BreakerSeries* series : all) {
    for (std::size_t i = 0; i < kTransitionKinds; ++i) {
      const LegalTransition& kind = kLegalTransitions[i];
      family.Counter(LabelsOf(*series, {{"from", Lower(kind.from)},
                                        {"to", Lower(kind.to)},
                                        {"reason", Lower(kind.reason)}}),
                     series->transitions(i));
    }
  }
  return family.Take();
}

MetricFamily WriteIgnored(const std::vector<BreakerSeries*>& all) {
  Family family(kIgnoredOutcomesMetric,
                "Outcomes that a circuit breaker didn't count.",
                MetricType::Counter, all.size() * (kIgnoredCauses - 1));
  for (const BreakerSeries* series : all) {
    for (std::size_t i = 1; i < kIgnoredCauses; ++i) {  // without kNone
      const auto cause = static_cast<IgnoredCause>(i);
      family.Counter(LabelsOf(*series, {{"cause", Lower(cause)}}),
                     series->ignored(cause));
    }
  }
  return family.Take();
}

MetricFamily WriteCounter(const char* name, const char* help,
                          const std::vector<BreakerSeries*>& all,
                          std::uint64_t (BreakerSeries::*count)() const) {
  Family family(name, help, MetricType::Counter, all.size());
  for (const BreakerSeries* series : all) {
    family.Counter(LabelsOf(*series), (series->*count)());
  }
  return family.Take();
}

}  // namespace

std::size_t SeriesOfCalls(const DurationBuckets& buckets) {
  const std::size_t counters = 4 + 2 * kCodes + 2 * kFallbackKinds.size();
  const std::size_t histogram = buckets.size() + 2;  // sum and count
  return counters + 2 * histogram;
}

std::size_t SeriesOfBreaker() {
  return kStates + kModeCount + kTransitionKinds + (kIgnoredCauses - 1) + 2;
}

void WriteCalls(const std::vector<CallReading>& readings,
                const DurationBuckets& buckets,
                std::vector<MetricFamily>* families) {
  families->push_back(WriteByCode(
      kCallsMetric, "Calls of the application, by their final status.",
      readings, &CallTotals::calls));
  families->push_back(WriteByCode(kAttemptsMetric,
                                  "Attempts on the wire, by their status.",
                                  readings, &CallTotals::attempts));
  families->push_back(WriteCounter(
      kRetriesMetric, "Attempts after the first one of a call, hedges apart.",
      readings, &CallTotals::retries));
  families->push_back(WriteCounter(kRejectedMetric,
                                   "Calls that a circuit breaker ended.",
                                   readings, &CallTotals::rejected));
  families->push_back(WriteCounter(
      kBudgetRefusalsMetric, "Retries and hedges that the throttle refused.",
      readings, &CallTotals::budget_refusals));
  families->push_back(WriteCounter(kHedgesMetric,
                                   "Attempts beside earlier ones under way.",
                                   readings, &CallTotals::hedges));
  families->push_back(WriteFallbacks(readings));
  families->push_back(
      WriteHistogram(kCallDurationMetric, "Time of a call with all attempts.",
                     readings, buckets, &CallTotals::call_duration));
  families->push_back(WriteHistogram(kAttemptDurationMetric,
                                     "Time of one attempt.", readings, buckets,
                                     &CallTotals::attempt_duration));
}

void WriteBreakers(const BreakerSeriesTable& table,
                   std::vector<MetricFamily>* families) {
  const std::vector<BreakerSeries*> all = table.All();
  families->push_back(WriteOneOf(
      kBreakerStateMetric, "1 for the state that the circuit breaker is in.",
      "state", kAllStates, all, &BreakerSeries::state));
  families->push_back(WriteOneOf(kBreakerModeMetric,
                                 "1 for the mode that the operator chose.",
                                 "mode", kModes, all, &BreakerSeries::mode));
  families->push_back(WriteTransitions(all));
  families->push_back(WriteIgnored(all));
  families->push_back(WriteCounter(
      kWouldHaveRejectedMetric,
      "Calls that a circuit breaker in SHADOW would have rejected.", all,
      &BreakerSeries::would_have_rejected));
  families->push_back(WriteCounter(kWouldHaveRejectedSucceededMetric,
                                   "Those of them that succeeded.", all,
                                   &BreakerSeries::then_succeeded));

  Family family(kBreakersMetric, "Circuit breakers, by their state.",
                MetricType::Gauge, kStates);
  for (const State state : kAllStates) {
    family.Gauge(
        {{"state", Lower(state)}},
        static_cast<double>(table.breakers()[static_cast<std::size_t>(state)]));
  }
  families->push_back(family.Take());
}

}  // namespace grpc_resilience::internal

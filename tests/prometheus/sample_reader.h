// Looks a sample up in what a Collectable gives, by name and labels.

#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace grpc_resilience::test {

using LabelValues = std::map<std::string, std::string>;

/// One scrape. A value type.
class Scrape {
 public:
  explicit Scrape(const prometheus::Collectable& collectable)
      : families_(collectable.Collect()) {}

  /// The sum of all samples of that name (of a histogram: its count) that have
  /// these labels, whatever others they have; -1 when there is none.
  double Sum(const std::string& name, const LabelValues& labels = {}) const {
    double sum = 0;
    bool found = false;
    ForEach(name, [&](const prometheus::ClientMetric& metric) {
      if (!Has(metric, labels)) return;
      found = true;
      sum += metric.counter.value + metric.gauge.value +
             static_cast<double>(metric.histogram.sample_count);
    });
    return found ? sum : -1;
  }
  double HistogramSum(const std::string& name,
                      const LabelValues& labels = {}) const {
    double sum = 0;
    ForEach(name, [&](const prometheus::ClientMetric& metric) {
      if (Has(metric, labels)) sum += metric.histogram.sample_sum;
    });
    return sum;
  }
  /// The label set of every sample of that name.
  std::vector<LabelValues> LabelSets(const std::string& name) const {
    std::vector<LabelValues> sets;
    ForEach(name, [&](const prometheus::ClientMetric& metric) {
      sets.push_back(LabelsOf(metric));
    });
    return sets;
  }
  /// The different values of a label in all families.
  std::set<std::string> Values(const std::string& label) const {
    std::set<std::string> values;
    for (const auto& family : families_) {
      for (const auto& metric : family.metric) {
        const LabelValues labels = LabelsOf(metric);
        if (labels.count(label) > 0) values.insert(labels.at(label));
      }
    }
    return values;
  }
  /// The names of all labels.
  std::set<std::string> LabelNames() const {
    std::set<std::string> names;
    for (const auto& family : families_) {
      for (const auto& metric : family.metric) {
        for (const auto& label : metric.label) names.insert(label.name);
      }
    }
    return names;
  }
  /// As Prometheus counts them: each bucket, sum and count of a histogram is one.
  std::size_t series() const {
    std::size_t series = 0;
    for (const auto& family : families_) {
      for (const auto& metric : family.metric) {
        series += family.type == prometheus::MetricType::Histogram
                      ? metric.histogram.bucket.size() + 2
                      : 1;
      }
    }
    return series;
  }
  const std::vector<prometheus::MetricFamily>& families() const {
    return families_;
  }

 private:
  static LabelValues LabelsOf(const prometheus::ClientMetric& metric) {
    LabelValues labels;
    for (const auto& label : metric.label) labels[label.name] = label.value;
    return labels;
  }
  static bool Has(const prometheus::ClientMetric& metric,
                  const LabelValues& wanted) {
    const LabelValues labels = LabelsOf(metric);
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
      const auto found = labels.find(label.first);
      return found != labels.end() && found->second == label.second;
    });
  }
  template <typename Use>
  void ForEach(const std::string& name, Use use) const {
    for (const auto& family : families_) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) use(metric);
    }
  }

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace grpc_resilience::test

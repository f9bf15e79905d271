// Writes what was counted in Prometheus' terms.

#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <string>
#include <vector>

#include "prometheus/breaker_series.h"
#include "prometheus/call_series.h"
#include "prometheus/duration_buckets.h"

namespace grpc_resilience::internal {

/// Series that WriteCalls makes of one CallSeries.
std::size_t SeriesOfCalls(const DurationBuckets& buckets);
/// Series that WriteBreakers makes of one BreakerSeries, and of all together.
std::size_t SeriesOfBreaker();
inline constexpr std::size_t kSeriesOfAllBreakers = kStates;

/// What a CallSeries has counted.
struct CallReading {
  const std::string& target;
  const std::string& method;
  CallTotals totals;
};
void WriteCalls(const std::vector<CallReading>& readings,
                const DurationBuckets& buckets,
                std::vector<prometheus::MetricFamily>* families);

void WriteBreakers(const BreakerSeriesTable& table,
                   std::vector<prometheus::MetricFamily>* families);

}  // namespace grpc_resilience::internal

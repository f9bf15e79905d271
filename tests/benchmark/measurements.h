// What the timing programs share.

#pragma once

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace grpc_resilience::bench {

/// A value type.
class Stopwatch {
 public:
  double Nanoseconds() const {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

/// The value that `share` of the values lie below; `values` must not be empty.
inline double Percentile(std::vector<double> values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(
                                          share * (values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Arguments of channels that are measured side by side in one process: each
/// has its own connection, as if it were alone.
inline grpc::ChannelArguments OwnConnection() {
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return args;
}

}  // namespace grpc_resilience::bench

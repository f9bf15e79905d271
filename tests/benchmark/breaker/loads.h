// Floors: what reading and doing nothing costs.

#pragma once

#include <atomic>
#include <cstdint>

namespace grpc_resilience::bench {

/// `Loads` acquire loads of one word and nothing else: no breaker can do with
/// less. This type is safe to use from several threads at once.
template <int Loads>
class PlainLoads {
 public:
  bool Call(bool /*failed*/) {
    bool admitted = true;
    for (int i = 0; i < Loads; ++i) {
      admitted &= word_.load(std::memory_order_acquire) == 0;
    }
    return admitted;
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace grpc_resilience::bench

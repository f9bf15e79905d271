// Failures in a row.

#pragma once

#include <limits>

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class ConsecutiveFailures {
 public:
  void AddFailure() {
    if (count_ < std::numeric_limits<int>::max()) ++count_;
  }
  void AddSuccess() { count_ = 0; }
  void Clear() { count_ = 0; }

  int count() const { return count_; }

 private:
  int count_ = 0;
};

}  // namespace grpc_resilience::internal

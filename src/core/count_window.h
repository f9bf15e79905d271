// The last N outcomes and how many of them were failures.
//
//   CountWindow window(20);
//   window.Add(/*failed=*/true);
//   window.failures();  // 1 of window.count() == 1

#pragma once

#include <vector>

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class CountWindow {
 public:
  /// Holds the last `size` outcomes; with 0 it holds none.
  explicit CountWindow(int size);

  /// Counts one more; the oldest makes room when the window is full.
  void Add(bool failed);
  void Clear();
  /// Keeps the newest outcomes that fit.
  void Resize(int size);

  int count() const { return count_; }
  int failures() const { return failures_; }
  /// Failures by outcomes; 0 while the window is empty.
  double failure_rate() const;

 private:
  int size() const { return static_cast<int>(ring_.size()); }
  /// Place of the outcome that came `age` outcomes ago; 0 is the newest.
  int PlaceOf(int age) const;

  std::vector<bool> ring_;  // true: failed
  int next_ = 0;            // where the next outcome goes
  int count_ = 0;
  int failures_ = 0;
};

}  // namespace grpc_resilience::internal

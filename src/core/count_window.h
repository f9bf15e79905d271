// The last N outcomes: how many of them were failures, how many slow.
//
//   CountWindow window(20);
//   window.Add(/*failed=*/true);
//   window.failures();  // 1 of window.count() == 1

#pragma once

#include <cstdint>
#include <vector>

#include "core/window_totals.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class CountWindow {
 public:
  /// Names one outcome for as long as the window lives; never 0.
  using Ticket = std::uint64_t;

  /// Holds the last `size` outcomes; with 0 it holds none.
  explicit CountWindow(int size);

  /// Counts one more; the oldest makes room when the window is full.
  Ticket Add(bool failed, bool slow = false);
  /// Counts that many successes.
  void AddSuccesses(std::int64_t count);
  /// That outcome was a failure after all; nothing when it has left the window.
  void MarkFailed(Ticket ticket);
  void Clear();
  /// Keeps the newest outcomes that fit. Tickets become void.
  void Resize(int size);

  const WindowTotals& totals() const { return totals_; }
  int count() const { return static_cast<int>(totals_.calls); }
  int failures() const { return static_cast<int>(totals_.failures); }
  /// Failures by outcomes; 0 while the window is empty.
  double failure_rate() const { return totals_.failure_rate(); }

 private:
  enum Bits : std::uint8_t { kFailed = 1, kSlow = 2 };

  int size() const { return static_cast<int>(ring_.size()); }
  /// Place of the outcome that came `age` outcomes ago; 0 is the newest.
  int PlaceOf(int age) const;

  std::vector<std::uint8_t> ring_;  // Bits
  int next_ = 0;                    // where the next outcome goes
  Ticket last_ticket_ = 0;
  WindowTotals totals_;
};

}  // namespace grpc_resilience::internal

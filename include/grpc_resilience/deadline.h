// A point in time before which something must be over, or none at all.
//
//   Deadline overall = Deadline::After(clock.Now(), std::chrono::seconds(1));
//   Deadline attempt = Earlier(overall, Deadline::After(now, per_attempt));
//   if (attempt.Expired(now)) ...
//
// "No deadline" is a value of its own and never takes part in arithmetic, so
// nothing can overflow into the past.

#pragma once

#include <optional>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// A value type; safe to copy, not to be changed from two threads at once.
class Deadline {
 public:
  /// No deadline.
  Deadline() = default;

  static Deadline None() { return Deadline(); }
  static Deadline At(TimePoint when) { return Deadline(when); }
  /// `now + length`, saturating.
  static Deadline After(TimePoint now, Duration length) {
    return Deadline(SaturatingAdd(now, length));
  }

  bool is_none() const { return !when_.has_value(); }
  /// Empty when there is no deadline.
  std::optional<TimePoint> when() const { return when_; }

  /// True at the deadline itself and after it; never for "none".
  bool Expired(TimePoint now) const { return when_ && now >= *when_; }

  /// Time left, never negative; empty when there is no deadline.
  std::optional<Duration> Remaining(TimePoint now) const {
    if (!when_) return std::nullopt;
    return *when_ > now ? *when_ - now : Duration::zero();
  }

  /// True when `length` from `now` on ends at or before the deadline.
  bool Fits(TimePoint now, Duration length) const {
    return !when_ || (now <= *when_ && *when_ - now >= length);
  }

  friend bool operator==(const Deadline& a, const Deadline& b) {
    return a.when_ == b.when_;
  }
  friend bool operator!=(const Deadline& a, const Deadline& b) {
    return !(a == b);
  }

 private:
  explicit Deadline(TimePoint when) : when_(when) {}

  std::optional<TimePoint> when_;
};

/// The one that comes first; "none" comes after every other.
inline Deadline Earlier(const Deadline& a, const Deadline& b) {
  if (a.is_none()) return b;
  if (b.is_none()) return a;
  return *a.when() <= *b.when() ? a : b;
}

}  // namespace grpc_resilience

// Collects what is wrong with a config, one line for every fault.

#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/duration_text.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

using FaultLines = std::vector<std::string>;

/// A name of the caller's, safe to print.
inline std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

/// An interval of numbers; open ends are left out. NaN is in none.
struct Interval {
  double low = 0;
  double high = 0;
  bool low_open = false;
  bool high_open = false;

  bool Contains(double value) const {
    return (low_open ? value > low : value >= low) &&
           (high_open ? value < high : value <= high);
  }
  std::string Text() const {
    return absl::StrCat("must be in ", low_open ? "(" : "[", low, ", ", high,
                        high_open ? ")" : "]");
  }
};

inline constexpr Interval kMultipliers = {1, 1000};
/// Three decimals are kept: anything less is no token at all.
inline constexpr Interval kTokenRatios = {0.001, 1000};

/// The checks of one place in the config ("target \"payments:443\"").
class FaultsOf {
 public:
  FaultsOf(std::string place, FaultLines* lines)
      : place_(std::move(place)), lines_(lines) {}

  const std::string& place() const { return place_; }

  void Add(absl::string_view text) {
    lines_->push_back(absl::StrCat(place_, ": ", text));
  }
  void Add(absl::string_view field, absl::string_view value,
           absl::string_view allowed) {
    Add(absl::StrCat(field, " = ", value, ": ", allowed));
  }

  void AtLeast(absl::string_view field, int value, int least) {
    if (value < least) {
      Add(field, absl::StrCat(value), absl::StrCat("must be >= ", least));
    }
  }
  void InRange(absl::string_view field, int value, int low, int high) {
    if (value < low || value > high) {
      Add(field, absl::StrCat(value),
          absl::StrCat("must be in [", low, ", ", high, "]"));
    }
  }
  void InRange(absl::string_view field, double value, const Interval& allowed) {
    if (!allowed.Contains(value)) {
      Add(field, absl::StrCat(value), allowed.Text());
    }
  }
  void Positive(absl::string_view field, Duration value) {
    if (value <= Duration::zero()) {
      Add(field, DurationText(value), "must be > 0");
    }
  }
  void NotNegative(absl::string_view field, Duration value) {
    if (value < Duration::zero()) {
      Add(field, DurationText(value), "must be >= 0");
    }
  }
  /// `other` names what the value is compared with.
  void NotBelow(absl::string_view field, Duration value,
                absl::string_view other, Duration least) {
    if (value < least) {
      Add(field, DurationText(value),
          absl::StrCat("must be >= ", other, " (", DurationText(least), ")"));
    }
  }
  /// Enumerators are 0, 1, … up to `last`.
  template <typename Enum>
  void Defined(absl::string_view field, Enum value, Enum last) {
    const int number = static_cast<int>(value);
    if (number < 0 || number > static_cast<int>(last)) {
      Add(field, absl::StrCat(number), "not a value of its enum");
    }
  }

 private:
  std::string place_;
  FaultLines* lines_;
};

}  // namespace grpc_resilience::internal

// Figures for people.

#pragma once

#include <string>
#include <string_view>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// For StrCat, which may know Abseil's own string_view only.
inline std::string Str(std::string_view text) { return std::string(text); }

/// Rounded: "85 ms", "1.2 s", "4 min 10 s", "2 h 5 min", "3 d 4 h".
std::string Roughly(Duration duration);

/// "12", "12.5".
std::string Number(double value);

/// "15 %" for 0.15.
std::string Percent(double share);

/// A method with its target, a target, or "key …".
std::string NameOf(const std::string& target, const std::string& method,
                   const std::string& custom);

}  // namespace grpc_resilience::internal

#include "admin/words.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace grpc_resilience::internal {
namespace {

std::string Two(std::int64_t large, const char* large_unit, std::int64_t small,
                const char* small_unit) {
  std::string text = absl::StrCat(large, " ", large_unit);
  if (small != 0) absl::StrAppend(&text, " ", small, " ", small_unit);
  return text;
}

}  // namespace

std::string Roughly(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 0) return "0 s";
  if (seconds < 0.001) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 9.95) return absl::StrFormat("%.1f s", seconds);
  const std::int64_t whole = std::llround(seconds);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return Two(whole / 60, "min", whole % 60, "s");
  const std::int64_t minutes = whole / 60;
  if (minutes < std::int64_t{24} * 60)
    return Two(minutes / 60, "h", minutes % 60, "min");
  const std::int64_t hours = minutes / 60;
  return Two(hours / 24, "d", hours % 24, "h");
}

std::string Number(double value) {
  return absl::StrFormat("%.6g", std::round(value * 1000) / 1000);
}

std::string Percent(double share) {
  return absl::StrCat(Number(std::round(share * 1000) / 10), " %");
}

std::string NameOf(const std::string& target, const std::string& method,
                   const std::string& custom) {
  if (!custom.empty()) return absl::StrCat("key ", custom);
  return method.empty() ? target : absl::StrCat(target, " ", method);
}

}  // namespace grpc_resilience::internal

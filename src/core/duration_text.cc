#include "core/duration_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace grpc_resilience::internal {

std::string DurationText(Duration duration) {
  struct Unit {
    std::int64_t nanoseconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {
      {1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}};
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.nanoseconds == 0) {
      return absl::StrCat(duration.count() / unit.nanoseconds, unit.name);
    }
  }
  return absl::StrCat(duration.count(), " ns");
}

}  // namespace grpc_resilience::internal

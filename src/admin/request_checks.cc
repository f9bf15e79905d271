#include "admin/request_checks.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "admin/messages.h"
#include "core/duration_text.h"
#include "core/method_pattern.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kMostBytes = 1024;
constexpr std::size_t kMostReasonBytes = 160;
constexpr std::size_t kMostShownBytes = 60;
constexpr int kMostFilterValues = 16;

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

// So that no answer is as large as what it complains of.
std::string Shown(std::string_view text) {
  std::string shown = absl::StrCat(
      "\"", absl::CHexEscape(View(text.substr(0, kMostShownBytes))),
      text.size() > kMostShownBytes ? "…\"" : "\"");
  if (text.size() > kMostShownBytes) {
    absl::StrAppend(&shown, " (", text.size(), " bytes)");
  }
  return shown;
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace

RequestChecks::RequestChecks(std::string_view request)
    : faults_(std::string(request), &lines_) {}

void RequestChecks::Add(std::string_view field, std::string_view value,
                        std::string_view allowed) {
  faults_.Add(View(field), View(value), View(allowed));
}

void RequestChecks::Text(std::string_view field, std::string_view text,
                         std::size_t most) {
  if (text.size() > most) {
    Add(field, Shown(text), absl::StrCat("must be at most ", most, " bytes"));
  }
  if (HasControlCharacter(text)) {
    Add(field, Shown(text), "must be without control characters");
  }
}

void RequestChecks::Key(const admin::v1::BreakerKey& key) {
  if (!key.custom().empty()) {
    Text("key.custom", key.custom(), kMostBytes);
    if (!key.target().empty() || !key.method().empty()) {
      Add("key.custom", Shown(key.custom()),
          "stands alone: target and method must be empty");
    }
    return;
  }
  Target("key.target", key.target());
  if (!key.method().empty()) Method("key.method", key.method());
}

void RequestChecks::Target(std::string_view field, std::string_view target) {
  if (target.empty()) Add(field, "\"\"", "must be set");
  Text(field, target, kMostBytes);
}

void RequestChecks::Method(std::string_view field, std::string_view method) {
  Text(field, method, kMostBytes);
  if (!IsMethodPattern(View(method)) || IsWildcard(View(method))) {
    Add(field, Shown(method), "must be like /pkg.Service/Method");
  }
}

void RequestChecks::Filter(const admin::v1::BreakerFilter& filter) {
  Text("filter.contains", filter.contains(), kMostBytes);
  if (filter.states_size() > kMostFilterValues) {
    Add("filter.states", absl::StrCat(filter.states_size(), " values"),
        absl::StrCat("must be at most ", kMostFilterValues));
  }
  if (filter.modes_size() > kMostFilterValues) {
    Add("filter.modes", absl::StrCat(filter.modes_size(), " values"),
        absl::StrCat("must be at most ", kMostFilterValues));
  }
  for (const int state : filter.states()) {
    if (!admin::v1::State_IsValid(state) || state == 0) {
      Add("filter.states", absl::StrCat(state),
          "must be CLOSED, OPEN or HALF_OPEN");
      break;
    }
  }
  for (const int mode : filter.modes()) {
    if (!admin::v1::Mode_IsValid(mode) || mode == 0) {
      Add("filter.modes", absl::StrCat(mode),
          "must be AUTO, FORCED_OPEN, FORCED_CLOSED or SHADOW");
      break;
    }
  }
}

void RequestChecks::PageSize(int page_size) {
  if (page_size < 0) Add("page_size", absl::StrCat(page_size), "must be >= 0");
}

void RequestChecks::Reason(std::string_view reason) {
  if (reason.empty()) {
    Add("reason", "\"\"", "must be set: colleagues will ask");
  }
  Text("reason", reason, kMostReasonBytes);
}

void RequestChecks::Mode(admin::v1::Mode mode) {
  if (!admin::v1::Mode_IsValid(mode) || mode == admin::v1::MODE_UNSPECIFIED) {
    Add("mode", absl::StrCat(static_cast<int>(mode)),
        "must be AUTO, FORCED_OPEN, FORCED_CLOSED or SHADOW");
  }
}

void RequestChecks::InRange(std::string_view field,
                            const google::protobuf::Duration& value,
                            Duration low, Duration high) {
  const Duration duration = FromProto(value);
  if (duration < low || duration > high) {
    Add(field, DurationText(duration),
        absl::StrCat("must be in [", DurationText(low), ", ",
                     DurationText(high), "]"));
  }
}

void RequestChecks::InRange(std::string_view field, int value, int low,
                            int high) {
  faults_.InRange(View(field), value, low, high);
}

absl::Status RequestChecks::Result() const {
  if (lines_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

int PageSizeOf(int page_size) {
  return page_size == 0 ? kDefaultPage : std::min(page_size, kLargestPage);
}

}  // namespace grpc_resilience::internal

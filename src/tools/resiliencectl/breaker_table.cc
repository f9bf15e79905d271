#include "tools/resiliencectl/breaker_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "admin/messages.h"
#include "admin/words.h"

namespace grpc_resilience::tools {
namespace {

using internal::FromProto;
using internal::Number;
using internal::Percent;
using internal::Roughly;

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

// What the breaker counts by.
std::string CountsOf(const pb::Breaker& breaker) {
  if (breaker.has_failure_rate()) {
    return absl::StrCat(breaker.window_failures(), "/", breaker.window_calls(),
                        " failed ", Percent(breaker.failure_rate()));
  }
  if (breaker.consecutive_failures() > 0) {
    return absl::StrCat(breaker.consecutive_failures(), " failed in a row");
  }
  return absl::StrCat(Number(breaker.tokens()), "/",
                      Number(breaker.max_tokens()), " tokens");
}

std::string NoteOf(const pb::Breaker& breaker) {
  std::string note;
  const auto add = [&](const std::string& text) {
    absl::StrAppend(&note, note.empty() ? "" : "; ", text);
  };
  if (breaker.mode() != pb::AUTO) {
    add(breaker.has_mode_ends_in()
            ? absl::StrCat("for another ",
                           Roughly(FromProto(breaker.mode_ends_in())), ": ",
                           breaker.mode_reason())
            : absl::StrCat("for good: ", breaker.mode_reason()));
  }
  // A forced mode knows no probes.
  if (breaker.state() == pb::OPEN && breaker.mode() != pb::FORCED_OPEN &&
      breaker.mode() != pb::FORCED_CLOSED) {
    add(breaker.probe_ready()
            ? "next call probes"
            : absl::StrCat("probe in ",
                           Roughly(FromProto(breaker.retry_after()))));
    if (!breaker.last_failure().empty()) add(breaker.last_failure());
  }
  return note;
}

}  // namespace

Color ColorOf(pb::State state, pb::Mode mode) {
  if (mode == pb::FORCED_OPEN) return Color::kRed;
  switch (state) {
    case pb::OPEN:
      return Color::kRed;
    case pb::HALF_OPEN:
      return Color::kYellow;
    default:
      return mode == pb::AUTO ? Color::kGreen : Color::kYellow;
  }
}

Table BreakerTable(const std::vector<BreakerOf>& breakers, bool with_address) {
  const bool with_method = std::any_of(
      breakers.begin(), breakers.end(),
      [](const BreakerOf& b) { return !b.breaker.key().method().empty(); });
  Table::Row head;
  if (with_address) head.emplace_back("ADDRESS", Color::kBold);
  head.emplace_back("TARGET", Color::kBold);
  if (with_method) head.emplace_back("METHOD", Color::kBold);
  for (const char* name :
       {"STATE", "FOR", "MODE", "COUNTS", "REJECTED", "NOTE"}) {
    head.emplace_back(name, Color::kBold);
  }
  Table table(std::move(head));
  for (const BreakerOf& of : breakers) {
    const pb::Breaker& breaker = of.breaker;
    const Color color = ColorOf(breaker.state(), breaker.mode());
    Table::Row row;
    if (with_address) row.emplace_back(of.address);
    row.emplace_back(breaker.key().custom().empty()
                         ? breaker.key().target()
                         : "key " + breaker.key().custom());
    if (with_method) row.emplace_back(breaker.key().method());
    row.emplace_back(pb::State_Name(breaker.state()), color);
    row.emplace_back(Roughly(AgeOf(breaker.since())));
    row.emplace_back(pb::Mode_Name(breaker.mode()),
                     breaker.mode() == pb::AUTO ? Color::kNone : color);
    row.emplace_back(CountsOf(breaker));
    row.emplace_back(absl::StrCat(breaker.rejected()));
    row.emplace_back(NoteOf(breaker));
    table.Add(std::move(row));
  }
  return table;
}

std::string NameOf(const pb::BreakerKey& key) {
  return internal::NameOf(key.target(), key.method(), key.custom());
}

std::string ClockOf(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%H:%M:%E3S", TimeOf(time), absl::LocalTimeZone());
}

Duration AgeOf(const google::protobuf::Timestamp& time) {
  return std::max(absl::ToChronoNanoseconds(absl::Now() - TimeOf(time)),
                  Duration::zero());
}

std::string TextOf(const pb::Transition& transition) {
  std::string text = NameOf(transition.key()) + " ";
  if (transition.from() != transition.to()) {
    absl::StrAppend(&text, pb::State_Name(transition.from()), " -> ",
                    pb::State_Name(transition.to()));
  } else {
    absl::StrAppend(&text, "mode ", pb::Mode_Name(transition.mode()));
  }
  return absl::StrCat(text, ": ", transition.why());
}

}  // namespace grpc_resilience::tools

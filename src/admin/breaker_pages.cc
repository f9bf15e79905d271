#include "admin/breaker_pages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/breaker_context.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kAtOnce = 256;
// Looked at for one page: a few milliseconds.
constexpr std::size_t kMostLookedAt = 20'000;
constexpr std::size_t kMostTokenBytes = std::size_t{16} * 1024;

bool Contains(absl::string_view text, absl::string_view part) {
  return absl::StrContains(text, part);
}

template <typename Values, typename Value>
bool AnyOrNone(const Values& values, Value value) {
  return values.empty() ||
         std::find(values.begin(), values.end(), value) != values.end();
}

bool Matches(const pb::BreakerFilter& filter, const pb::Breaker& breaker) {
  if (!AnyOrNone(filter.states(), breaker.state())) return false;
  if (!AnyOrNone(filter.modes(), breaker.mode())) return false;
  return !filter.noteworthy() || breaker.state() != pb::CLOSED ||
         breaker.mode() != pb::AUTO;
}

// Lengths in front, so that no key can be taken for another.
void AppendPart(std::string_view part, std::string* text) {
  absl::StrAppend(text, part.size(), ":");
  text->append(part.data(), part.size());
}

bool TakePart(absl::string_view* text, std::string* part) {
  const std::size_t colon = text->find(':');
  std::size_t size = 0;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text->substr(0, colon), &size) ||
      text->size() - colon - 1 < size) {
    return false;
  }
  *part = std::string(text->substr(colon + 1, size));
  text->remove_prefix(colon + 1 + size);
  return true;
}

}  // namespace

bool KeyMatches(const pb::BreakerFilter& filter, const BreakerKey& key) {
  const std::string& part = filter.contains();
  if (part.empty()) return true;
  if (!key.custom.empty()) return Contains(key.custom, part);
  return Contains(absl::StrCat(key.target, " ", key.method), part);
}

pb::Breaker MessageOf(const CircuitBreaker& breaker, const WallTime& time) {
  return ToProto(breaker.snapshot(SnapshotParts::kWithoutTransitions),
                 breaker.context()->rules, time);
}

BreakerPage ReadPage(const BreakerRegistry& registry,
                     const pb::BreakerFilter& filter,
                     const std::optional<BreakerKey>& after, std::size_t most,
                     const WallTime& time) {
  BreakerPage page;
  page.last = after;
  for (std::size_t looked_at = 0; looked_at < kMostLookedAt;) {
    const std::size_t at_once = std::min(kAtOnce, most);
    const auto breakers = registry.ListAfter(page.last, at_once);
    for (const std::shared_ptr<CircuitBreaker>& breaker : breakers) {
      if (page.breakers.size() == most) return page;
      page.last = breaker->key();
      ++looked_at;
      if (!KeyMatches(filter, *page.last)) continue;
      // The state alone first: it is cheap.
      if (!AnyOrNone(filter.states(), ToProto(breaker->state()))) continue;
      pb::Breaker message = MessageOf(*breaker, time);
      if (Matches(filter, message)) page.breakers.push_back(std::move(message));
    }
    if (breakers.size() < at_once) {
      page.last = std::nullopt;
      return page;
    }
  }
  return page;
}

std::string PageToken(const pb::BreakerFilter& filter, const BreakerKey& last) {
  std::string text;
  AppendPart(filter.SerializeAsString(), &text);
  AppendPart(last.target, &text);
  AppendPart(last.method, &text);
  AppendPart(last.custom, &text);
  return absl::WebSafeBase64Escape(text);
}

absl::StatusOr<BreakerKey> ParsePageToken(const pb::BreakerFilter& filter,
                                          std::string_view token) {
  std::string text;
  std::string filter_then;
  BreakerKey key;
  const bool decoded =
      token.size() <= kMostTokenBytes &&
      absl::WebSafeBase64Unescape(absl::string_view(token.data(), token.size()),
                                  &text);
  absl::string_view rest = text;
  if (!decoded || !TakePart(&rest, &filter_then) ||
      !TakePart(&rest, &key.target) || !TakePart(&rest, &key.method) ||
      !TakePart(&rest, &key.custom) || !rest.empty()) {
    return absl::InvalidArgumentError(
        "page_token: must be the next_page_token of the page before");
  }
  if (filter_then != filter.SerializeAsString()) {
    return absl::InvalidArgumentError(
        "page_token: belongs to another filter; it must stay the same");
  }
  return key;
}

}  // namespace grpc_resilience::internal

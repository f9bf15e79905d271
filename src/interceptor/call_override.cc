#include "interceptor/call_override.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "grpc_resilience/fallback.h"

namespace grpc_resilience::internal {
namespace {

std::string DurationPart(const std::optional<Duration>& duration) {
  return duration ? absl::StrCat(duration->count()) : std::string();
}

std::optional<std::int64_t> PositiveNumber(absl::string_view text) {
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number <= 0) return std::nullopt;
  return number;
}

std::optional<Duration> ToDuration(absl::string_view text) {
  const std::optional<std::int64_t> count = PositiveNumber(text);
  if (!count) return std::nullopt;
  return Duration(*count);
}

CallOptions ParseOptions(const std::string& text) {
  CallOptions options;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  if (parts.size() != 3) return options;
  int attempts = 0;
  if (absl::SimpleAtoi(parts[0], &attempts) && attempts >= 1) {
    options.max_attempts = attempts;
  }
  options.per_attempt_timeout = ToDuration(parts[1]);
  options.timeout = ToDuration(parts[2]);
  return options;
}

// All keys of ours begin so. Nearly no call has one, which one look-up tells.
bool HasAny(const SentMetadata& metadata) {
  static const auto* const prefix = new std::string("grpc-resilience-");
  const auto first = metadata.lower_bound(*prefix);
  return first != metadata.end() && absl::StartsWith(first->first, *prefix);
}

}  // namespace

std::string ToText(const CallOptions& options) {
  return absl::StrCat(options.max_attempts ? absl::StrCat(*options.max_attempts)
                                           : std::string(),
                      ",", DurationPart(options.per_attempt_timeout), ",",
                      DurationPart(options.timeout));
}

CallOverride PeekOverride(const SentMetadata& metadata) {
  CallOverride override;
  if (!HasAny(metadata)) return override;
  if (const auto found = metadata.find(kCallOptionsKey);
      found != metadata.end()) {
    override.options = ParseOptions(found->second);
  }
  override.chain_stop = metadata.count(kChainStopKey) > 0;
  override.without_fallbacks = metadata.count(kWithoutFallbacksKey) > 0;
  return override;
}

CallOverride TakeOverride(SentMetadata* metadata) {
  if (!HasAny(*metadata)) return {};
  CallOverride override = PeekOverride(*metadata);
  metadata->erase(kCallOptionsKey);
  metadata->erase(kChainStopKey);
  metadata->erase(kWithoutFallbacksKey);
  return override;
}

}  // namespace grpc_resilience::internal

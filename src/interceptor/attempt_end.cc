#include "interceptor/attempt_end.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "grpc_resilience/rpc/v1/status.pb.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
constexpr std::int64_t kMostSeconds = 100LL * 365 * 24 * 3600;

// A message over a size limit: the text is the only sign of it in gRPC.
bool IsLocal(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return false;
  const std::string message = status.error_message();
  return absl::StartsWith(message, "Sent message larger than max (") ||
         absl::StartsWith(message, "Received message larger than max (");
}

// gRFC A6: anything but a non-negative number of milliseconds means "don't".
std::optional<Pushback> ParsePushback(const Attempt::Metadata& trailing) {
  const auto found = trailing.find(kPushbackKey);
  if (found == trailing.end()) return std::nullopt;
  int milliseconds = 0;
  const absl::string_view text(found->second.data(), found->second.size());
  if (trailing.count(kPushbackKey) > 1 ||
      !absl::SimpleAtoi(text, &milliseconds) || milliseconds < 0) {
    return Pushback{};
  }
  return Pushback{std::chrono::milliseconds(milliseconds)};
}

constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";

// google.rpc.RetryInfo among the details of a status: when to come back.
std::optional<Pushback> ParseRetryInfo(const std::string& details) {
  rpc::v1::Status status;
  if (details.empty() || !status.ParseFromString(details)) return std::nullopt;
  for (const rpc::v1::Any& detail : status.details()) {
    rpc::v1::RetryInfo info;
    if (detail.type_url() != kRetryInfo ||
        !info.ParseFromString(detail.value()) || !info.has_retry_delay()) {
      continue;
    }
    const auto& delay = info.retry_delay();
    // No more than a deadline can be away, so that nothing overflows.
    const auto seconds = std::min<std::int64_t>(delay.seconds(), kMostSeconds);
    // Zero says nothing of when; our own backoff is better than a hot loop.
    if (seconds < 0 || delay.nanos() < 0 ||
        (seconds == 0 && delay.nanos() == 0)) {
      return std::nullopt;
    }
    return Pushback{std::chrono::seconds(seconds) +
                    std::chrono::nanoseconds(delay.nanos())};
  }
  return std::nullopt;
}

}  // namespace

AttemptEnd MakeAttemptEnd(const grpc::Status& status,
                          const Attempt::Metadata* trailing) {
  AttemptEnd end;
  end.code = status.error_code();
  if (end.code == grpc::StatusCode::OK) return end;
  end.message = status.error_message();
  if (IsLocal(status)) end.origin = ErrorOrigin::kLocal;
  if (trailing != nullptr) end.pushback = ParsePushback(*trailing);
  if (!end.pushback) end.pushback = ParseRetryInfo(status.error_details());
  return end;
}

}  // namespace grpc_resilience::internal

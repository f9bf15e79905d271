#include "interceptor/attempt_end.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "grpc_resilience/rpc/v1/status.pb.h"
#include "grpc_resilience/stop_reason.h"
#include "interceptor/status_details.h"

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

// A breaker of this library behind the peer, whose rejection the peer passes on.
bool IsOwnRejection(const rpc::v1::Any& detail) {
  rpc::v1::ErrorInfo info;
  return detail.type_url() == kErrorInfoType &&
         info.ParseFromString(detail.value()) &&
         info.domain() == kErrorDomain &&
         info.reason() == ToString(StopReason::kBreakerOpen);
}

// google.rpc.RetryInfo: when to come back.
std::optional<Pushback> ParseRetryInfo(const rpc::v1::Any& detail) {
  rpc::v1::RetryInfo info;
  if (detail.type_url() != kRetryInfoType ||
      !info.ParseFromString(detail.value()) || !info.has_retry_delay()) {
    return std::nullopt;
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

void ReadDetails(const std::string& details, AttemptEnd* end) {
  rpc::v1::Status status;
  if (details.empty() || !status.ParseFromString(details)) return;
  std::optional<Pushback> retry_info;
  for (const rpc::v1::Any& detail : status.details()) {
    if (end->code == grpc::StatusCode::UNAVAILABLE && IsOwnRejection(detail)) {
      end->origin = ErrorOrigin::kOwnRejection;
    }
    if (!retry_info) retry_info = ParseRetryInfo(detail);
  }
  // The header is gRPC's own and has the word.
  if (!end->pushback) end->pushback = retry_info;
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
  ReadDetails(status.error_details(), &end);
  return end;
}

}  // namespace grpc_resilience::internal

#include "interceptor/attempt_end.h"

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";

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

}  // namespace

AttemptEnd MakeAttemptEnd(const grpc::Status& status,
                          const Attempt::Metadata* trailing) {
  AttemptEnd end;
  end.code = status.error_code();
  if (end.code == grpc::StatusCode::OK) return end;
  end.message = status.error_message();
  if (IsLocal(status)) end.origin = ErrorOrigin::kLocal;
  if (trailing != nullptr) end.pushback = ParsePushback(*trailing);
  return end;
}

}  // namespace grpc_resilience::internal

#include "grpc_resilience/outcome.h"

namespace grpc_resilience {
namespace {

// Null for a number that gRPC doesn't define.
const char* DefinedName(StatusCode code) {
  switch (code) {
    case StatusCode::OK:
      return "OK";
    case StatusCode::CANCELLED:
      return "CANCELLED";
    case StatusCode::UNKNOWN:
      return "UNKNOWN";
    case StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case StatusCode::NOT_FOUND:
      return "NOT_FOUND";
    case StatusCode::ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case StatusCode::PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case StatusCode::UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    case StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case StatusCode::ABORTED:
      return "ABORTED";
    case StatusCode::OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case StatusCode::UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case StatusCode::INTERNAL:
      return "INTERNAL";
    case StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case StatusCode::DATA_LOSS:
      return "DATA_LOSS";
    case StatusCode::DO_NOT_USE:
      break;
  }
  return nullptr;
}

}  // namespace

std::string_view ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
      return "SUCCESS";
    case Outcome::kFailure:
      return "FAILURE";
    case Outcome::kIgnored:
      return "IGNORED";
  }
  return "UNKNOWN";
}

std::string_view ToString(IgnoredCause cause) {
  switch (cause) {
    case IgnoredCause::kNone:
      return "NONE";
    case IgnoredCause::kCancelled:
      return "CANCELLED";
    case IgnoredCause::kDeadlineTooShort:
      return "DEADLINE_TOO_SHORT";
    case IgnoredCause::kLocalError:
      return "LOCAL_ERROR";
    case IgnoredCause::kDropped:
      return "DROPPED";
    case IgnoredCause::kStale:
      return "STALE";
    case IgnoredCause::kOwnRejection:
      return "OWN_REJECTION";
    case IgnoredCause::kNeutralProbe:
      return "NEUTRAL_PROBE";
    case IgnoredCause::kUnspecified:
      return "UNSPECIFIED";
  }
  return "UNKNOWN";
}

std::string StatusCodeName(StatusCode code) {
  const char* const name = DefinedName(code);
  return name != nullptr ? name
                         : "CODE_" + std::to_string(static_cast<int>(code));
}

Classification Classify(const AttemptResult& result) {
  if (result.code == StatusCode::OK) {
    return {Outcome::kSuccess, IgnoredCause::kNone};
  }
  if (result.cancelled_by_caller) {
    return {Outcome::kIgnored, IgnoredCause::kCancelled};
  }
  if (result.origin == ErrorOrigin::kLocal) {
    return {Outcome::kIgnored, IgnoredCause::kLocalError};
  }
  if (result.origin == ErrorOrigin::kOwnRejection) {
    return {Outcome::kIgnored, IgnoredCause::kOwnRejection};
  }
  if (result.origin == ErrorOrigin::kNotConnected && result.is_probe &&
      result.code == StatusCode::UNAVAILABLE) {
    return {Outcome::kIgnored, IgnoredCause::kNeutralProbe};
  }
  switch (result.code) {
    case StatusCode::UNAVAILABLE:
    case StatusCode::INTERNAL:
    case StatusCode::UNKNOWN:
    case StatusCode::DATA_LOSS:
    case StatusCode::RESOURCE_EXHAUSTED:
      return {Outcome::kFailure, IgnoredCause::kNone};
    case StatusCode::DEADLINE_EXCEEDED:
      if (result.had_fair_time) return {Outcome::kFailure, IgnoredCause::kNone};
      return {Outcome::kIgnored, IgnoredCause::kDeadlineTooShort};
    default:  // the peer answered
      return {Outcome::kSuccess, IgnoredCause::kNone};
  }
}

}  // namespace grpc_resilience

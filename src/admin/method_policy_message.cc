#include "admin/method_policy_message.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/messages.h"
#include "admin/words.h"
#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

using Lines = std::vector<std::string>;

const char* NameOfJitter(Jitter jitter) {
  switch (jitter) {
    case Jitter::kNone:
      return "NONE";
    case Jitter::kFull:
      return "FULL";
    case Jitter::kEqual:
      return "EQUAL";
    case Jitter::kDecorrelated:
      return "DECORRELATED";
    case Jitter::kRatio:
      return "RATIO";
  }
  return "UNKNOWN";
}

const char* NameOfIdempotency(Idempotency idempotency) {
  switch (idempotency) {
    case Idempotency::kFromProto:
      return "FROM_PROTO";
    case Idempotency::kIdempotent:
      return "IDEMPOTENT";
    case Idempotency::kNonIdempotent:
      return "NON_IDEMPOTENT";
  }
  return "UNKNOWN";
}

std::string CodesText(const RetryPolicy& retry) {
  if (!retry.retryable_status_codes) {
    return "UNAVAILABLE and DEADLINE_EXCEEDED if idempotent";
  }
  return absl::StrJoin(*retry.retryable_status_codes, ", ",
                       [](std::string* out, StatusCode code) {
                         absl::StrAppend(out, StatusCodeName(code));
                       });
}

// "256 KiB", or bytes when it isn't a whole number of them.
std::string BytesText(int bytes) {
  constexpr int kKib = 1024;
  if (bytes == 0 || bytes % kKib != 0) return absl::StrCat(bytes, " bytes");
  if (bytes % (kKib * kKib) != 0) return absl::StrCat(bytes / kKib, " KiB");
  return absl::StrCat(bytes / (kKib * kKib), " MiB");
}

// What isn't as usual; empty: nothing.
std::string StreamText(const StreamPolicy& stream) {
  const StreamPolicy usual;
  Lines parts;
  if (stream.replay_bytes != usual.replay_bytes) {
    parts.push_back(absl::StrCat("keep ", BytesText(stream.replay_bytes),
                                 " to send again"));
  }
  if (stream.initial_metadata_grace != usual.initial_metadata_grace) {
    parts.push_back(stream.initial_metadata_grace > Duration(0)
                        ? absl::StrCat("hold initial metadata back for ",
                                       Roughly(stream.initial_metadata_grace))
                        : "give initial metadata at once");
  }
  if (stream.write_behind_bytes != usual.write_behind_bytes) {
    parts.push_back(absl::StrCat(
        "write up to ", BytesText(stream.write_behind_bytes), " behind"));
  }
  if (stream.read_ahead_messages != usual.read_ahead_messages) {
    parts.push_back(
        absl::StrCat("read ", stream.read_ahead_messages, " messages ahead"));
  }
  if (parts.empty()) return "";
  return absl::StrCat("streams ", absl::StrJoin(parts, ", "));
}

std::string MethodText(const MethodPolicy& policy) {
  if (policy.bypass) return "bypass: the library keeps out of these calls";
  const RetryPolicy& retry = policy.retry;
  Lines parts;
  if (retry.max_attempts == 1) {
    parts.emplace_back("1 attempt");
  } else {
    parts.push_back(absl::StrCat("up to ", retry.max_attempts, " attempts on ",
                                 CodesText(retry)));
    parts.push_back(absl::StrCat("backoff ",
                                 Roughly(retry.backoff.initial_backoff), " to ",
                                 Roughly(retry.backoff.max_backoff), ", x",
                                 Number(retry.backoff.backoff_multiplier)));
  }
  if (policy.hedging) {
    const HedgingPolicy& hedging = *policy.hedging;
    parts.push_back(absl::StrCat(
        "if idempotent hedged instead: up to ", hedging.max_hedged_attempts,
        " attempts, each ",
        hedging.delay_quantile
            ? absl::StrCat("after quantile ", Number(*hedging.delay_quantile),
                           " of the latency")
            : absl::StrCat(Roughly(hedging.hedging_delay), " after the last")));
  }
  if (retry.per_attempt_timeout) {
    parts.push_back(absl::StrCat(
        "at most ", Roughly(*retry.per_attempt_timeout), " per attempt"));
  }
  if (policy.timeout) {
    parts.push_back(
        absl::StrCat("at most ", Roughly(*policy.timeout), " in all"));
  }
  if (std::string text = StreamText(policy.stream); !text.empty()) {
    parts.push_back(std::move(text));
  }
  if (!policy.fallbacks.empty()) {
    parts.push_back(absl::StrCat(
        "then ", absl::StrJoin(policy.fallbacks, ", ",
                               [](std::string* out, const auto& fallback) {
                                 out->append(fallback->kind());
                               })));
  }
  return absl::StrJoin(parts, "; ");
}

void SetHedging(const HedgingPolicy& hedging, pb::HedgingPolicy* message) {
  message->set_max_hedged_attempts(hedging.max_hedged_attempts);
  *message->mutable_hedging_delay() = ToProto(hedging.hedging_delay);
  if (hedging.delay_quantile) {
    message->set_delay_quantile(*hedging.delay_quantile);
  }
  for (const StatusCode code : hedging.non_fatal_status_codes) {
    message->add_non_fatal_status_codes(StatusCodeName(code));
  }
}

void SetStream(const StreamPolicy& stream, pb::StreamPolicy* message) {
  message->set_replay_bytes(stream.replay_bytes);
  *message->mutable_initial_metadata_grace() =
      ToProto(stream.initial_metadata_grace);
  message->set_write_behind_bytes(stream.write_behind_bytes);
  message->set_read_ahead_messages(stream.read_ahead_messages);
}

}  // namespace

pb::MethodPolicy ToProto(const MethodPolicy& policy) {
  const RetryPolicy& retry = policy.retry;
  pb::MethodPolicy message;
  message.set_text(ValidUtf8(MethodText(policy)));
  message.set_max_attempts(retry.max_attempts);
  *message.mutable_initial_backoff() = ToProto(retry.backoff.initial_backoff);
  *message.mutable_max_backoff() = ToProto(retry.backoff.max_backoff);
  message.set_backoff_multiplier(retry.backoff.backoff_multiplier);
  message.set_jitter(NameOfJitter(retry.backoff.jitter));
  if (retry.per_attempt_timeout) {
    *message.mutable_per_attempt_timeout() =
        ToProto(*retry.per_attempt_timeout);
  }
  if (policy.timeout) *message.mutable_timeout() = ToProto(*policy.timeout);
  if (retry.retryable_status_codes) {
    for (const StatusCode code : *retry.retryable_status_codes) {
      message.add_retryable_status_codes(StatusCodeName(code));
    }
  }
  message.set_idempotency(NameOfIdempotency(retry.idempotency));
  message.set_idempotency_key_header(retry.idempotency_key_header.value_or(""));
  message.set_chain_stop(retry.chain_stop);
  message.set_bypass(policy.bypass);
  if (policy.hedging) SetHedging(*policy.hedging, message.mutable_hedging());
  for (const auto& fallback : policy.fallbacks) {
    message.add_fallbacks(std::string(fallback->kind()));
  }
  SetStream(policy.stream, message.mutable_stream());
  return message;
}

}  // namespace grpc_resilience::internal

#include "admin/policy_messages.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/messages.h"
#include "admin/words.h"
#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

using Rule = pb::ListPoliciesResponse::Rule;
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

const char* NameOfScope(BreakerScope scope) {
  switch (scope) {
    case BreakerScope::kTarget:
      return "TARGET";
    case BreakerScope::kTargetAndMethod:
      return "TARGET_AND_METHOD";
    case BreakerScope::kKeyFunction:
      return "KEY_FUNCTION";
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

std::string OpenTimeText(const BreakerRules& rules) {
  const BackoffPolicy& time = rules.open_time;
  std::string text = absl::StrCat("open for ", Roughly(time.initial_backoff));
  if (time.backoff_multiplier > 1) {
    absl::StrAppend(&text, ", x", Number(time.backoff_multiplier), " up to ",
                    Roughly(time.max_backoff));
  }
  return text;
}

std::string TargetText(const BreakerRules& rules) {
  std::string budget =
      rules.limits_retries
          ? absl::StrCat("retries while more than half of ",
                         Number(rules.bucket.Tokens(0)), " tokens are there")
          : "retries are not limited";
  if (!rules.enabled) return absl::StrCat("no breaker; ", budget);
  return absl::StrCat("opens when ", OpensWhen(rules), "; ",
                      OpenTimeText(rules), "; ", budget);
}

std::string WindowText(const BreakerRules& rules) {
  return rules.window_buckets > 0
             ? absl::StrCat("in the last ", Roughly(rules.window_duration))
             : absl::StrCat("of the last ", rules.window_calls, " calls");
}

void SetTripRules(const BreakerRules& rules, pb::TargetPolicy* message) {
  message->set_trip_on_empty_bucket(rules.trips_on_empty_bucket);
  if (rules.failure_rate_threshold > 0) {
    message->set_failure_rate_threshold(rules.failure_rate_threshold);
  }
  if (rules.slow_call_rate_threshold > 0) {
    message->set_slow_call_rate_threshold(rules.slow_call_rate_threshold);
  }
  if (rules.TimesCalls()) {
    *message->mutable_slow_call_duration() = ToProto(rules.slow_call_duration);
  }
  if (rules.consecutive_failures > 0) {
    message->set_consecutive_failures(rules.consecutive_failures);
  }
  if (!rules.HasWindow()) return;
  message->set_window_calls(rules.window_calls);
  if (rules.window_buckets > 0) {
    *message->mutable_window_duration() = ToProto(rules.window_duration);
  }
  message->set_minimum_calls(rules.minimum_calls);
}

void AddMethodRules(const MethodPolicies& policies, const std::string& place,
                    std::vector<Rule>* rules) {
  const auto add = [&](const std::string& name, const MethodPolicy& policy) {
    Rule rule;
    rule.set_rule(ValidUtf8(place + name));
    *rule.mutable_method() = ToProto(policy);
    rules->push_back(std::move(rule));
  };
  for (const auto& [pattern, policy] : policies.by_pattern()) {
    add("method " + pattern, policy);
  }
  if (policies.default_method()) {
    add("default method", *policies.default_method());
  }
}

void AddTargetRules(const std::string& name, const TargetConfig& target,
                    std::vector<Rule>* rules) {
  Rule rule;
  rule.set_rule(ValidUtf8(name));
  *rule.mutable_target() = ToProto(target.breaker, target.throttle);
  rules->push_back(std::move(rule));
  AddMethodRules(target, name + ", ", rules);
}

}  // namespace

std::string OpensWhen(const BreakerRules& rules) {
  Lines any;
  if (rules.trips_on_empty_bucket) {
    any.push_back(absl::StrCat(
        "the token bucket (", Number(rules.bucket.Tokens(0)),
        " tokens; a failure takes 1, a success puts ",
        Number(static_cast<double>(rules.bucket.per_success) / kMilli),
        " back) is empty"));
  }
  const std::string from = absl::StrCat(" ", WindowText(rules), " (from ",
                                        rules.minimum_calls, " calls on)");
  if (rules.failure_rate_threshold > 0) {
    any.push_back(
        absl::StrCat(Percent(rules.failure_rate_threshold), " failed", from));
  }
  if (rules.slow_call_rate_threshold > 0) {
    any.push_back(absl::StrCat(Percent(rules.slow_call_rate_threshold),
                               " took ", Roughly(rules.slow_call_duration),
                               " or longer", from));
  }
  if (rules.consecutive_failures > 0) {
    any.push_back(absl::StrCat(rules.consecutive_failures, " failed in a row"));
  }
  return absl::StrJoin(any, ", or ");
}

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

pb::TargetPolicy ToProto(const BreakerPolicy& policy,
                         const RetryThrottlePolicy& throttle) {
  const BreakerRules rules(policy, throttle);
  pb::TargetPolicy message;
  message.set_text(TargetText(rules));
  message.set_enabled(rules.enabled);
  message.set_scope(NameOfScope(policy.scope));
  message.set_counts(policy.counts == BreakerCounts::kCalls ? "CALLS"
                                                            : "ATTEMPTS");
  SetTripRules(rules, &message);
  *message.mutable_open_duration() = ToProto(rules.open_time.initial_backoff);
  message.set_open_duration_multiplier(rules.open_time.backoff_multiplier);
  *message.mutable_max_open_duration() = ToProto(rules.open_time.max_backoff);
  message.set_open_duration_jitter(rules.open_time.jitter == Jitter::kRatio
                                       ? rules.open_time.jitter_ratio
                                       : 0);
  message.set_early_probe_after_rejections(rules.early_probe_after_rejections);
  message.set_half_open_calls(rules.half_open_calls);
  *message.mutable_half_open_max_wait() = ToProto(rules.half_open_max_wait);
  message.set_limits_retries(rules.limits_retries);
  message.set_max_tokens(rules.bucket.Tokens(0));
  message.set_token_ratio(static_cast<double>(rules.bucket.per_success) /
                          kMilli);
  return message;
}

std::vector<Rule> RulesOf(const Config& config) {
  std::vector<Rule> rules;
  for (const auto& [name, target] : config.targets()) {
    AddTargetRules("target " + name, target, &rules);
  }
  AddTargetRules("default target", config.default_target(), &rules);
  AddMethodRules(config, "", &rules);
  Rule rule;
  rule.set_rule("library defaults");
  *rule.mutable_method() = ToProto(MethodPolicy());
  rules.push_back(std::move(rule));
  return rules;
}

std::string TargetRuleOf(const Config& config, const std::string& target) {
  return config.targets().count(target) != 0 ? "target " + target
                                             : "default target";
}

}  // namespace grpc_resilience::internal

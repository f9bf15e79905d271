#include "admin/policy_messages.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/messages.h"
#include "admin/method_policy_message.h"
#include "admin/words.h"
#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

using Rule = pb::ListPoliciesResponse::Rule;

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
  std::vector<std::string> any;
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

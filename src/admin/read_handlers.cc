#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "admin/breaker_pages.h"
#include "admin/explanation.h"
#include "admin/handlers.h"
#include "admin/method_policy_message.h"
#include "admin/policy_messages.h"
#include "admin/request_checks.h"
#include "admin/words.h"
#include "core/breaker_context.h"
#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

pb::Outcome::Kind KindOf(const RecordedOutcome& outcome) {
  if (outcome.rejected) return pb::Outcome::REJECTED;
  switch (outcome.classification.outcome) {
    case Outcome::kSuccess:
      return pb::Outcome::SUCCESS;
    case Outcome::kFailure:
      return pb::Outcome::FAILURE;
    case Outcome::kIgnored:
      return pb::Outcome::IGNORED;
  }
  return pb::Outcome::KIND_UNSPECIFIED;
}

pb::Outcome OutcomeToProto(const RecordedOutcome& outcome,
                           const WallTime& time) {
  pb::Outcome message;
  *message.mutable_time() = time.At(outcome.at);
  message.set_kind(KindOf(outcome));
  message.set_code(StatusCodeName(outcome.code));
  *message.mutable_latency() = ToProto(outcome.latency);
  message.set_target(ValidUtf8(outcome.target));
  message.set_method(ValidUtf8(outcome.method));
  message.set_attempt(outcome.attempt);
  if (message.kind() == pb::Outcome::IGNORED) {
    message.set_ignored_cause(
        std::string(ToString(outcome.classification.cause)));
  }
  return message;
}

// Of the rules after the one that the token names.
absl::StatusOr<std::size_t> PlaceAfter(
    const std::vector<pb::ListPoliciesResponse::Rule>& rules,
    const std::string& token) {
  if (token.empty()) return std::size_t{0};
  const auto found =
      std::find_if(rules.begin(), rules.end(),
                   [&](const auto& rule) { return rule.rule() == token; });
  if (found == rules.end()) {
    return absl::InvalidArgumentError(
        "page_token: must be the next_page_token of the page before; the "
        "policies may have changed since");
  }
  return static_cast<std::size_t>(found - rules.begin()) + 1;
}

}  // namespace

absl::StatusOr<std::shared_ptr<CircuitBreaker>> FindBreaker(
    Resilience& resilience, const pb::BreakerKey& key) {
  std::shared_ptr<CircuitBreaker> breaker =
      resilience.registry().Find(FromProto(key));
  if (breaker != nullptr) return breaker;
  return absl::NotFoundError(absl::StrCat(
      "no breaker of ", NameOf(key.target(), key.method(), key.custom())));
}

absl::Status ReadHandlers::List(const pb::ListBreakersRequest& request,
                                pb::ListBreakersResponse* response) const {
  RequestChecks checks("ListBreakersRequest");
  checks.Filter(request.filter());
  checks.PageSize(request.page_size());
  if (auto status = checks.Result(); !status.ok()) return status;
  std::optional<BreakerKey> after;
  if (!request.page_token().empty()) {
    auto key = ParsePageToken(request.filter(), request.page_token());
    if (!key.ok()) return key.status();
    after = *std::move(key);
  }
  BreakerPage page =
      ReadPage(resilience_->registry(), request.filter(), after,
               static_cast<std::size_t>(PageSizeOf(request.page_size())),
               WallTime(resilience_->clock()));
  for (pb::Breaker& breaker : page.breakers) {
    *response->add_breakers() = std::move(breaker);
  }
  if (page.last) {
    response->set_next_page_token(PageToken(request.filter(), *page.last));
  }
  return absl::OkStatus();
}

absl::Status ReadHandlers::Get(const pb::GetBreakerRequest& request,
                               pb::GetBreakerResponse* response) const {
  RequestChecks checks("GetBreakerRequest");
  checks.Key(request.key());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  *response->mutable_breaker() =
      MessageOf(**breaker, WallTime(resilience_->clock()));
  return absl::OkStatus();
}

absl::Status ReadHandlers::ExplainOne(
    const pb::ExplainBreakerRequest& request,
    pb::ExplainBreakerResponse* response) const {
  RequestChecks checks("ExplainBreakerRequest");
  checks.Key(request.key());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  const WallTime time(resilience_->clock());
  const BreakerSnapshot snapshot = (*breaker)->snapshot();
  const BreakerRules rules = (*breaker)->context()->rules;
  Explain(snapshot, rules, time, response);
  *response->mutable_breaker() = ToProto(snapshot, rules, time);
  if (!snapshot.transitions.empty()) {
    *response->mutable_last_transition() =
        ToProto(snapshot.transitions.back(), time);
  }
  // A custom key doesn't say whose policy it got.
  if (request.key().custom().empty()) {
    const auto resolved =
        resilience_->Resolve(snapshot.key.target, snapshot.key.method);
    *response->mutable_policy() = ToProto(resolved.breaker, resolved.throttle);
  }
  return absl::OkStatus();
}

absl::Status ReadHandlers::Transitions(
    const pb::ListTransitionsRequest& request,
    pb::ListTransitionsResponse* response) const {
  RequestChecks checks("ListTransitionsRequest");
  checks.Key(request.key());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  const WallTime time(resilience_->clock());
  for (const TransitionEvent& event : (*breaker)->snapshot().transitions) {
    *response->add_transitions() = ToProto(event, time);
  }
  return absl::OkStatus();
}

absl::Status ReadHandlers::Policies(const pb::ListPoliciesRequest& request,
                                    pb::ListPoliciesResponse* response) const {
  RequestChecks checks("ListPoliciesRequest");
  checks.PageSize(request.page_size());
  if (auto status = checks.Result(); !status.ok()) return status;
  const std::shared_ptr<const Config> config = resilience_->config();
  std::vector<pb::ListPoliciesResponse::Rule> rules = RulesOf(*config);
  const auto first = PlaceAfter(rules, request.page_token());
  if (!first.ok()) return first.status();
  const std::size_t last = std::min(
      rules.size(),
      *first + static_cast<std::size_t>(PageSizeOf(request.page_size())));
  for (std::size_t i = *first; i < last; ++i) {
    *response->add_rules() = std::move(rules[i]);
  }
  if (last < rules.size()) {
    response->set_next_page_token(
        response->rules(response->rules_size() - 1).rule());
  }
  return absl::OkStatus();
}

absl::Status ReadHandlers::Resolve(const pb::ResolvePolicyRequest& request,
                                   pb::ResolvePolicyResponse* response) const {
  RequestChecks checks("ResolvePolicyRequest");
  checks.Target("target", request.target());
  checks.Method("method", request.method());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto resolved =
      resilience_->Resolve(request.target(), request.method());
  *response->mutable_method() = internal::ToProto(resolved.method);
  response->set_method_rule(ValidUtf8(resolved.rule));
  *response->mutable_target() =
      internal::ToProto(resolved.breaker, resolved.throttle);
  response->set_target_rule(
      ValidUtf8(TargetRuleOf(*resilience_->config(), request.target())));
  if (!resolved.method.bypass &&
      resolved.breaker.mode == BreakerMode::kEnabled) {
    *response->mutable_breaker() = internal::ToProto(
        resilience_->BreakerKeyFor(request.target(), request.method()));
  }
  return absl::OkStatus();
}

absl::Status ReadHandlers::Outcomes(const pb::ListOutcomesRequest& request,
                                    pb::ListOutcomesResponse* response) const {
  RequestChecks checks("ListOutcomesRequest");
  checks.Key(request.key());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  const auto recording = recorder_->Find(FromProto(request.key()));
  if (!recording) {
    return absl::FailedPreconditionError(
        "no recording is under way: RecordOutcomes begins one");
  }
  const WallTime time(resilience_->clock());
  for (const RecordedOutcome& outcome : recording->outcomes) {
    *response->add_outcomes() = OutcomeToProto(outcome, time);
  }
  response->set_recorded(recording->recorded);
  *response->mutable_until() = time.At(recording->until);
  return absl::OkStatus();
}

}  // namespace grpc_resilience::internal

#include "interceptor/call_plan.h"

#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/hedge_session.h"
#include "interceptor/timer_thread.h"

namespace grpc_resilience::internal {
namespace {

// A generic stub can be asked for any name; beyond this many the plan is made
// anew for each call instead of being kept.
constexpr std::size_t kMaxPlans = 1000;

}  // namespace

bool CanRetry(const RetryPolicy& retry, bool idempotent) {
  if (retry.max_attempts <= 1) return false;
  for (int code = 1; code <= 16; ++code) {
    if (IsRetryableCode(retry, idempotent, static_cast<StatusCode>(code))) {
      return true;
    }
  }
  return false;
}

void CallPlan::NoticeUnknownMessages() const {
  if (noticed.exchange(true)) return;
  resilience->Notify(
      {target, method,
       "calls are protected by the breaker but neither retried, limited nor "
       "answered by fallbacks: the "
       "type of their messages can't be known (not a generated protobuf class "
       "of "
       "this method, and MethodPolicy::message_kind isn't kBytes)"});
}

CallPlanCache::CallPlanCache(std::shared_ptr<Resilience> resilience,
                             std::string target)
    : resilience_(std::move(resilience)), target_(std::move(target)) {
  resilience_->UseExecutor([](std::function<void()> run) {
    TimerThread::ForNotifications()->Schedule(TimePoint::min(), std::move(run),
                                              nullptr);
  });
  if (resilience_->timer() == nullptr) {
    resilience_->ExpireOnShutdown(TimerThread::OfProcess());
  }
}

std::shared_ptr<const CallPlan> CallPlanCache::Get(std::string_view method) {
  const std::uint64_t version = resilience_->version();
  {
    absl::ReaderMutexLock lock(&mu_);
    if (version_ == version) {
      const auto found =
          plans_.find(absl::string_view(method.data(), method.size()));
      if (found != plans_.end()) return found->second;
    }
  }
  std::shared_ptr<const CallPlan> plan = Make(method, version);
  absl::MutexLock lock(&mu_);
  if (version_ != version) {
    plans_.clear();
    version_ = version;
  }
  if (plans_.size() < kMaxPlans) plans_.emplace(plan->method, plan);
  return plan;
}

std::shared_ptr<const CallPlan> CallPlanCache::Make(
    std::string_view method, std::uint64_t version) const {
  auto plan = std::make_shared<CallPlan>(target_);
  Resilience::ResolvedPolicy resolved = resilience_->Resolve(target_, method);
  plan->resilience = resilience_;
  plan->timer = resilience_->timer() != nullptr ? resilience_->timer()
                                                : TimerThread::OfProcess();
  plan->method = std::string(method);
  plan->policy = std::move(resolved.method);
  plan->max_replay_bytes = resolved.max_replay_bytes;
  plan->outcome_predicate = resolved.breaker.outcome_predicate;
  if (resolved.breaker.mode == BreakerMode::kEnabled && !plan->policy.bypass) {
    plan->breaker = resilience_->registry().GetOrCreate(
        resilience_->BreakerKeyFor(target_, plan->method));
    plan->recovery = recovery_;
    plan->watch = recovery_->For(plan->breaker, resolved.breaker, version);
  }
  const auto observers = resilience_->observers();
  if (observers != nullptr && !observers->empty()) plan->observers = observers;
  plan->types = LookUpMethod(plan->method);
  plan->fallback = FallbackPlan::Make(plan->policy, plan->types);

  const RetryPolicy& retry = plan->policy.retry;
  const bool idempotent =
      retry.idempotency_key_header.has_value() ||
      retry.idempotency == Idempotency::kIdempotent ||
      (retry.idempotency == Idempotency::kFromProto && plan->types.idempotent);
  plan->may_retry = CanRetry(retry, idempotent);

  plan->stream_may_retry = plan->may_retry;

  plan->session.target = plan->target;
  if (const auto& hedging = plan->policy.hedging; hedging && idempotent) {
    plan->hedged = true;
    plan->hedged_retry = HedgedRetry(retry, *hedging);
    plan->may_retry = true;
    if (hedging->delay_quantile) {
      plan->latency = LatencyOf(plan->method, *hedging);
    }
  }
  plan->session.idempotent = idempotent;
  plan->session.breaker = plan->breaker.get();
  plan->session.min_deadline_for_failure =
      resolved.breaker.min_deadline_for_failure;
  plan->session.breaker_counts = resolved.breaker.counts;
  plan->session.probe_timeout = resolved.breaker.half_open_per_attempt_timeout;
  if (plan->outcome_predicate) {
    plan->session.outcome_predicate = &plan->outcome_predicate;
  }
  if (plan->watch != nullptr) {
    plan->session.may_probe = [recovery = recovery_, watch = plan->watch] {
      return recovery->MayProbe(watch);
    };
  }
  plan->session.clock = &resilience_->clock();
  plan->session.random = &resilience_->random();
  plan->stream_session = plan->session;
  plan->stream_session.retry = &plan->policy.retry;
  plan->session.retry =
      plan->hedged ? &plan->hedged_retry : &plan->policy.retry;
  plan->single_retry = retry;
  plan->single_retry.max_attempts = 1;
  plan->single_session = plan->session;
  plan->single_session.retry = &plan->single_retry;
  return plan;
}

std::shared_ptr<LatencyQuantile> CallPlanCache::LatencyOf(
    const std::string& method, const HedgingPolicy& hedging) const {
  absl::MutexLock lock(&mu_);
  Latency& entry = latencies_[method];
  if (entry.quantile != *hedging.delay_quantile ||
      entry.minimum != hedging.delay_minimum_calls) {
    entry = {*hedging.delay_quantile, hedging.delay_minimum_calls,
             std::make_shared<LatencyQuantile>(*hedging.delay_quantile,
                                               hedging.delay_minimum_calls)};
  }
  std::shared_ptr<LatencyQuantile> latency = entry.latency;
  if (latencies_.size() > kMaxPlans) latencies_.clear();
  return latency;
}

}  // namespace grpc_resilience::internal

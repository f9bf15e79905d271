#include "grpc_resilience/resilience.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/custom_keys.h"
#include "core/notifier.h"
#include "core/policy_table.h"

namespace grpc_resilience {
namespace {

using internal::CustomKeys;
using internal::Notifier;
using internal::PolicyTable;

// Holds the table, so the registry may ask at any time.
BreakerRegistry::SettingsSource SettingsFrom(
    std::shared_ptr<const PolicyTable> policies,
    std::shared_ptr<const CustomKeys> custom_keys) {
  return [policies = std::move(policies),
          custom_keys = std::move(custom_keys)](const BreakerKey& key) {
    const TargetConfig& target = policies->ForTarget(
        key.custom.empty() ? key.target : custom_keys->TargetOf(key.custom));
    return BreakerRegistry::Settings{target.breaker, target.throttle};
  };
}

BreakerRegistry::Limits LimitsOf(const PolicyTable& policies) {
  return {static_cast<std::size_t>(policies.max_breakers()),
          policies.breaker_idle_time()};
}

BreakerKey KeyOf(std::string_view target, std::string_view method) {
  return {std::string(target), std::string(method)};
}

absl::Status NoBreaker(const BreakerKey& key) {
  if (!key.custom.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no breaker of custom key \"", key.custom, "\""));
  }
  std::string text = absl::StrCat("no breaker of target \"", key.target, "\"");
  if (!key.method.empty()) {
    absl::StrAppend(&text, " method \"", key.method, "\"");
  }
  return absl::NotFoundError(text);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Resilience>> Resilience::Create(Config config,
                                                               Ports ports) {
  if (ports.clock == nullptr || ports.random == nullptr) {
    return absl::InvalidArgumentError("Ports: clock and random must be set");
  }
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  return std::shared_ptr<Resilience>(
      new Resilience(std::move(config), std::move(ports)));
}

Resilience::Resilience(Config config, Ports ports)
    : ports_(std::move(ports)),
      notifier_(std::make_shared<Notifier>(ports_.executor)),
      custom_keys_(std::make_shared<CustomKeys>(
          static_cast<std::size_t>(config.max_custom_keys))),
      policies_(std::make_shared<const PolicyTable>(std::move(config))),
      registry_(std::make_unique<BreakerRegistry>(
          SettingsFrom(policies_, custom_keys_), LimitsOf(*policies_),
          *ports_.clock, *ports_.random, notifier_.get())) {
  if (ports_.timer != nullptr) timers_.push_back(ports_.timer);
}

Resilience::~Resilience() = default;

absl::Status Resilience::Update(Config config) {
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  auto policies = std::make_shared<const PolicyTable>(std::move(config));
  absl::MutexLock update(&update_mu_);
  {
    absl::MutexLock lock(&mu_);
    policies_ = policies;
  }
  custom_keys_->SetLimit(static_cast<std::size_t>(policies->max_custom_keys()));
  registry_->Reconfigure(SettingsFrom(policies, custom_keys_),
                         LimitsOf(*policies));
  version_.fetch_add(1, std::memory_order_acq_rel);
  return absl::OkStatus();
}

void Resilience::AddObserver(std::shared_ptr<CallObserver> observer) {
  if (observer == nullptr) return;
  notifier_->AddObserver(std::move(observer));
  version_.fetch_add(1, std::memory_order_acq_rel);
}

void Resilience::RemoveObserver(const CallObserver* observer) {
  if (!notifier_->RemoveObserver(observer)) return;
  version_.fetch_add(1, std::memory_order_acq_rel);
}

std::shared_ptr<const Config> Resilience::config() const {
  const std::shared_ptr<const PolicyTable> table = policies();
  return {table, &table->config()};
}

std::vector<BreakerSnapshot> Resilience::Breakers() const {
  std::vector<BreakerSnapshot> snapshots;
  for (const auto& breaker : registry_->List()) {
    snapshots.push_back(breaker->snapshot());
  }
  return snapshots;
}

std::optional<BreakerSnapshot> Resilience::FindBreaker(
    std::string_view target, std::string_view method) const {
  return FindBreaker(KeyOf(target, method));
}

std::optional<BreakerSnapshot> Resilience::FindBreaker(
    const BreakerKey& key) const {
  const auto breaker = registry_->Find(key);
  if (breaker == nullptr) return std::nullopt;
  return breaker->snapshot();
}

absl::Status Resilience::ResetBreaker(std::string_view target,
                                      std::string_view method) {
  return ResetBreaker(KeyOf(target, method));
}

absl::Status Resilience::ResetBreaker(const BreakerKey& key) {
  const auto breaker = registry_->Find(key);
  if (breaker == nullptr) return NoBreaker(key);
  breaker->Reset();
  return absl::OkStatus();
}

absl::Status Resilience::ForceBreakerMode(const BreakerKey& key,
                                          OperatorMode mode,
                                          std::optional<Duration> ttl,
                                          std::string_view reason) {
  if (ttl && *ttl <= Duration::zero()) {
    return absl::InvalidArgumentError("ttl must be > 0");
  }
  const auto breaker = registry_->Find(key);
  if (breaker == nullptr) return NoBreaker(key);
  breaker->ForceMode(mode, ttl, reason);
  return absl::OkStatus();
}

void Resilience::Shutdown() {
  std::vector<std::shared_ptr<Timer>> timers;
  {
    absl::MutexLock lock(&mu_);
    shut_down_.store(true, std::memory_order_seq_cst);
    timers = timers_;
  }
  for (const auto& timer : timers) timer->ExpireAll(this);
}

void Resilience::ExpireOnShutdown(const std::shared_ptr<Timer>& timer) {
  if (timer == nullptr) return;
  absl::MutexLock lock(&mu_);
  if (std::find(timers_.begin(), timers_.end(), timer) != timers_.end()) return;
  timers_.push_back(timer);
}

BreakerKey Resilience::BreakerKeyFor(std::string_view target,
                                     std::string_view method) {
  const std::shared_ptr<const PolicyTable> table = policies();
  const BreakerPolicy& policy = table->ForTarget(target).breaker;
  switch (policy.scope) {
    case BreakerScope::kTarget:
      break;
    case BreakerScope::kTargetAndMethod:
      return KeyOf(target, method);
    case BreakerScope::kKeyFunction:
      try {
        const std::string custom = policy.key_function(target, method);
        if (!custom.empty()) return custom_keys_->KeyOf(custom, target);
      } catch (...) {
        // The user's own affair; the call is protected all the same.
      }
      break;
  }
  return KeyOf(target, {});
}

Resilience::ResolvedPolicy Resilience::Resolve(std::string_view target,
                                               std::string_view method) const {
  const std::shared_ptr<const PolicyTable> table = policies();
  const TargetConfig& own = table->ForTarget(target);
  PolicyTable::Match match = table->ForMethod(target, method);
  return {*match.policy, own.breaker, own.throttle, table->max_replay_bytes(),
          std::move(match.rule)};
}

std::shared_ptr<const Resilience::Observers> Resilience::observers() const {
  return notifier_->call_observers();
}

void Resilience::Notify(NoticeEvent notice) {
  notifier_->OnNotice(std::move(notice));
}

void Resilience::UseExecutor(
    std::function<void(std::function<void()>)> executor) {
  notifier_->UseExecutor(std::move(executor));
}

std::shared_ptr<const PolicyTable> Resilience::policies() const {
  absl::ReaderMutexLock lock(&mu_);
  return policies_;
}

}  // namespace grpc_resilience

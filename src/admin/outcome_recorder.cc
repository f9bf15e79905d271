#include "admin/outcome_recorder.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kMostKnownKeys = 1000;

TimePoint NowOf(const std::weak_ptr<Resilience>& resilience) {
  const auto alive = resilience.lock();
  return alive != nullptr ? alive->clock().Now() : TimePoint::max();
}

}  // namespace

absl::StatusOr<TimePoint> OutcomeRecorder::Record(const BreakerKey& key,
                                                  std::size_t capacity,
                                                  Duration duration) {
  const TimePoint until = SaturatingAdd(NowOf(resilience_), duration);
  absl::MutexLock changing(&changing_);
  {
    absl::MutexLock lock(&mu_);
    if (rings_.count(key) == 0 && rings_.size() >= most_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "there are ", rings_.size(), " recordings: no more at once"));
    }
    Ring& ring = rings_[key];
    ring.capacity = capacity;
    ring.until = until;
    while (ring.outcomes.size() > capacity) ring.outcomes.pop_front();
  }
  Attend();
  return until;
}

bool OutcomeRecorder::Stop(const BreakerKey& key) {
  absl::MutexLock changing(&changing_);
  bool stopped = false;
  {
    absl::MutexLock lock(&mu_);
    stopped = rings_.erase(key) > 0;
  }
  Attend();
  return stopped;
}

void OutcomeRecorder::StopAll() {
  absl::MutexLock changing(&changing_);
  {
    absl::MutexLock lock(&mu_);
    rings_.clear();
  }
  Attend();
}

bool OutcomeRecorder::Expire() {
  const TimePoint now = NowOf(resilience_);
  absl::MutexLock changing(&changing_);
  bool more = false;
  {
    absl::MutexLock lock(&mu_);
    absl::erase_if(rings_,
                   [&](const auto& ring) { return ring.second.until <= now; });
    more = !rings_.empty();
  }
  Attend();
  return more;
}

void OutcomeRecorder::Attend() {
  bool wanted = false;
  {
    absl::MutexLock lock(&mu_);
    wanted = !rings_.empty();
    any_custom_ = std::any_of(rings_.begin(), rings_.end(), [](const auto& r) {
      return !r.first.custom.empty();
    });
    if (!any_custom_) custom_.clear();
  }
  if (wanted == attending_) return;
  attending_ = wanted;
  const auto resilience = resilience_.lock();
  if (resilience == nullptr) return;
  if (wanted) {
    resilience->AddObserver(shared_from_this());
  } else {
    resilience->RemoveObserver(this);
  }
}

std::optional<OutcomeRecorder::Recording> OutcomeRecorder::Find(
    const BreakerKey& key) const {
  const TimePoint now = NowOf(resilience_);
  absl::MutexLock lock(&mu_);
  const auto found = rings_.find(key);
  if (found == rings_.end() || found->second.until <= now) return std::nullopt;
  const Ring& ring = found->second;
  return Recording{
      {ring.outcomes.begin(), ring.outcomes.end()}, ring.recorded, ring.until};
}

void OutcomeRecorder::OnAttemptEnd(const AttemptEvent& event) {
  RecordedOutcome outcome;
  outcome.classification = event.classification;
  outcome.code = event.code;
  outcome.latency = event.duration;
  outcome.target = std::string(event.target);
  outcome.method = std::string(event.method);
  outcome.attempt = event.number;
  Keep(std::move(outcome));
}

void OutcomeRecorder::OnCallEnd(const CallEvent& event) {
  if (event.reason != StopReason::kBreakerOpen) return;
  RecordedOutcome outcome;
  outcome.rejected = true;
  outcome.code = event.code;
  outcome.latency = event.duration;
  outcome.target = std::string(event.target);
  outcome.method = std::string(event.method);
  Keep(std::move(outcome));
}

void OutcomeRecorder::Keep(RecordedOutcome outcome) {
  outcome.at = NowOf(resilience_);
  const std::string custom = CustomOf(outcome.target, outcome.method);
  absl::MutexLock lock(&mu_);
  Ring* const ring = RingOfLocked(outcome.target, outcome.method, custom);
  if (ring == nullptr || ring->until <= outcome.at) return;
  ++ring->recorded;
  if (ring->outcomes.size() == ring->capacity) ring->outcomes.pop_front();
  ring->outcomes.push_back(std::move(outcome));
}

OutcomeRecorder::Ring* OutcomeRecorder::RingOfLocked(
    const std::string& target, const std::string& method,
    const std::string& custom) {
  const BreakerKey keys[] = {{"", "", custom}, {target, method}, {target, ""}};
  for (const BreakerKey& key : keys) {
    if (key.target.empty() && key.custom.empty()) continue;
    const auto found = rings_.find(key);
    if (found != rings_.end()) return &found->second;
  }
  return nullptr;
}

std::string OutcomeRecorder::CustomOf(const std::string& target,
                                      const std::string& method) {
  {
    absl::MutexLock lock(&mu_);
    if (!any_custom_) return "";
    const auto found = custom_.find({target, method});
    if (found != custom_.end()) return found->second;
  }
  const auto resilience = resilience_.lock();
  if (resilience == nullptr) return "";
  // Calls the user's function.
  std::string custom = resilience->BreakerKeyFor(target, method).custom;
  absl::MutexLock lock(&mu_);
  if (custom_.size() < kMostKnownKeys) custom_[{target, method}] = custom;
  return custom;
}

}  // namespace grpc_resilience::internal

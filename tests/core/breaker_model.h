// A circuit breaker as plainly as can be: one thread, no bits, no atomics, every
// rule spelled out. What the real one must agree with.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/window_model.h"
#include "grpc_resilience/breaker_policy.h"
#include "grpc_resilience/breaker_snapshot.h"

namespace grpc_resilience {

/// Knows no jitter, no ramp and no slow calls. Not safe for use from several
/// threads at once.
class BreakerModel {
 public:
  /// What an admitted call brings back.
  struct Pass {
    enum class Kind { kCall, kProbe, kShadow, kUncounted };
    Kind kind = Kind::kCall;
    std::uint64_t generation = 0;
    std::uint64_t probe = 0;
  };

  BreakerModel(const BreakerPolicy& policy, const RetryThrottlePolicy& throttle)
      : policy_(policy), throttle_(throttle) {}

  std::optional<Pass> Admit(TimePoint now) {
    if (!Enabled()) return Pass{Pass::Kind::kUncounted};
    EndMode(now);
    if (mode_ == OperatorMode::kForcedClosed) return Call();
    std::optional<Pass> pass;
    if (mode_ != OperatorMode::kForcedOpen) pass = AdmitByState(now);
    if (pass) return pass;
    if (mode_ == OperatorMode::kShadow) {
      ++shadow.would_have_rejected;
      return Pass{Pass::Kind::kShadow};
    }
    ++rejected;
    return std::nullopt;
  }

  bool WouldReject(TimePoint now) const {
    if (!Enabled()) return false;
    switch (ModeAt(now)) {
      case OperatorMode::kForcedOpen:
        return true;
      case OperatorMode::kForcedClosed:
      case OperatorMode::kShadow:
        return false;
      case OperatorMode::kAuto:
        break;
    }
    if (state == State::kClosed) return false;
    if (state == State::kOpen) return !ProbeReady(now);
    return !HasSlot(InFlight(now));
  }

  bool RetryAllowed() const {
    return !Enabled() || !throttle_.limits_retries || 2 * missing_ < Size();
  }

  void Record(const Pass& pass, Outcome outcome, IgnoredCause cause,
              StatusCode code, TimePoint now) {
    switch (pass.kind) {
      case Pass::Kind::kUncounted:
        return;
      case Pass::Kind::kCall:
        return RecordCall(pass, outcome, cause, code, now);
      case Pass::Kind::kShadow:
        EndMode(now);
        if (outcome == Outcome::kSuccess) ++shadow.then_succeeded;
        if (outcome == Outcome::kIgnored) Ignore(cause);
        return;
      case Pass::Kind::kProbe:
        EndMode(now);
        return RecordProbe(pass, outcome, cause, now);
    }
  }

  void Reset(TimePoint now) {
    growth_ = 0;
    if (state == State::kClosed) {
      Forget();
      missing_ = 0;
      return;
    }
    TransitionTo(State::kClosed, now);
    missing_ = 0;
  }

  void MakeProbeReady() {
    if (state == State::kOpen) probe_at_ = TimePoint::min();
  }

  void ForceMode(OperatorMode mode, std::optional<Duration> ttl,
                 TimePoint now) {
    EndMode(now);
    if (mode == OperatorMode::kAuto && mode_ == OperatorMode::kAuto) return;
    std::optional<TimePoint> until;
    if (ttl && mode != OperatorMode::kAuto) until = now + *ttl;
    SetMode(mode, until);
  }

  void Reconfigure(const BreakerPolicy& policy,
                   const RetryThrottlePolicy& throttle, TimePoint now) {
    const bool alone_before = BucketAlone();
    const bool tripped_before = BucketTrips();
    const std::int64_t size_before = Size();
    policy_ = policy;
    throttle_ = throttle;
    window_.Reconfigure(policy);
    if (!policy_.consecutive_failures) row = 0;
    missing_ =
        missing_ >= size_before ? Size() : missing_ * Size() / size_before;
    if (state == State::kClosed && BucketTrips() && !tripped_before) {
      missing_ = std::min(missing_, Size() - 1000);
    }
    if (state != State::kHalfOpen) return;
    if (BucketAlone()) {
      missing_ =
          alone_before ? std::min(missing_, Size() - 1000) : Size() - 1000;
    } else if (succeeded >= policy_.half_open_calls) {
      TransitionTo(State::kClosed, now);
    }
  }

  bool ProbeReady(TimePoint now) const {
    return now >= probe_at_ ||
           (now >= early_probe_at_ && rejected >= early_probe_rejected_);
  }
  Duration TimeUntilProbe(TimePoint now) const {
    return ProbeReady(now) ? Duration::zero() : probe_at_ - now;
  }
  OperatorMode ModeAt(TimePoint now) const {
    return mode_until_ && now >= *mode_until_ ? OperatorMode::kAuto : mode_;
  }
  double Tokens() const {
    return static_cast<double>(Size() - missing_) / 1000;
  }
  int InFlight(TimePoint now) const {
    int in_flight = 0;
    for (const auto& probe : probes_) {
      in_flight += Lost(probe.second, now) ? 0 : 1;
    }
    return in_flight;
  }
  /// Outcomes and failures in the window.
  /// Calls and failures.
  std::pair<int, int> WindowAt(TimePoint now) const { return window_.At(now); }

  State state = State::kClosed;
  std::uint64_t generation = 0;
  std::uint64_t rejected = 0;
  int succeeded = 0;
  int row = 0;
  ShadowCounts shadow;
  std::array<std::uint64_t, kIgnoredCauses> ignored{};

 private:
  // --- Settings

  bool Enabled() const { return policy_.mode == BreakerMode::kEnabled; }
  bool HasRate() const { return policy_.failure_rate_threshold.has_value(); }
  bool OtherRules() const {
    return HasRate() || policy_.consecutive_failures.has_value();
  }
  bool BucketTrips() const {
    return policy_.trip_on_empty_bucket.value_or(!OtherRules());
  }
  bool BucketAlone() const { return !OtherRules(); }
  std::int64_t Size() const { return 1000 * throttle_.max_tokens; }
  std::int64_t PerSuccess() const {
    return static_cast<std::int64_t>(throttle_.token_ratio * 1000 + 0.5);
  }

  // --- Admitting

  Pass Call() const { return {Pass::Kind::kCall, generation, 0}; }
  bool Lost(TimePoint admitted_at, TimePoint now) const {
    return now >= admitted_at + policy_.half_open_max_wait;
  }
  bool HasSlot(int in_flight) const {
    if (BucketAlone()) {
      return in_flight == 0 || in_flight < (Size() - missing_) / 1000;
    }
    return in_flight < policy_.half_open_max_in_flight.value_or(
                           policy_.half_open_calls) &&
           in_flight + succeeded < policy_.half_open_calls;
  }
  void DropLost(TimePoint now) {
    for (auto it = probes_.begin(); it != probes_.end();) {
      it = Lost(it->second, now) ? probes_.erase(it) : std::next(it);
    }
  }
  std::optional<Pass> AdmitByState(TimePoint now) {
    if (state == State::kOpen && ProbeReady(now)) {
      TransitionTo(State::kHalfOpen, now);
    }
    if (state == State::kClosed) return Call();
    if (state == State::kOpen) return std::nullopt;
    DropLost(now);
    if (!HasSlot(InFlight(now))) return std::nullopt;
    probes_[++last_probe_] = now;
    return Pass{Pass::Kind::kProbe, generation, last_probe_};
  }

  // --- Recording

  void Ignore(IgnoredCause cause) {
    ++ignored[static_cast<std::size_t>(cause)];
  }
  void CountOnBucket(bool failed) {
    missing_ = failed ? std::min(missing_ + 1000, Size())
                      : std::max<std::int64_t>(missing_ - PerSuccess(), 0);
  }

  void RecordCall(const Pass& pass, Outcome outcome, IgnoredCause cause,
                  StatusCode code, TimePoint now) {
    if (outcome == Outcome::kIgnored) return Ignore(cause);
    if (!Enabled()) return Ignore(IgnoredCause::kStale);
    EndMode(now);
    if (pass.generation != generation) return Ignore(IgnoredCause::kStale);
    const bool failed = outcome == Outcome::kFailure;
    CountOnBucket(failed);
    if (mode_ == OperatorMode::kForcedClosed) return;
    bool trip = failed && BucketTrips() && missing_ >= Size();
    if (OtherRules()) {
      if (!failed) row = 0;
      if (failed && policy_.consecutive_failures &&
          code != StatusCode::RESOURCE_EXHAUSTED) {
        ++row;
      }
      window_.Record(failed, now);
      if (failed && policy_.consecutive_failures &&
          row >= *policy_.consecutive_failures) {
        trip = true;
      }
      const auto [calls, failures] = WindowAt(now);
      if (failed && HasRate() && calls >= policy_.minimum_calls &&
          static_cast<double>(failures) / calls >=
              *policy_.failure_rate_threshold) {
        trip = true;
      }
    }
    if (trip) TransitionTo(State::kOpen, now);
  }

  void RecordProbe(const Pass& pass, Outcome outcome, IgnoredCause cause,
                   TimePoint now) {
    DropLost(now);
    if (probes_.erase(pass.probe) == 0) return Ignore(IgnoredCause::kStale);
    if (outcome == Outcome::kIgnored) return Ignore(cause);
    if (!Enabled() || mode_ == OperatorMode::kForcedOpen ||
        mode_ == OperatorMode::kForcedClosed) {
      return Ignore(IgnoredCause::kStale);
    }
    CountOnBucket(outcome == Outcome::kFailure);
    if (outcome == Outcome::kFailure) {
      if (!BucketAlone() || (Size() - missing_) / 1000 == 0) {
        TransitionTo(State::kOpen, now);
      }
      return;
    }
    ++succeeded;
    if (BucketAlone() ? 2 * missing_ < Size()
                      : succeeded >= policy_.half_open_calls) {
      TransitionTo(State::kClosed, now);
    }
  }

  // --- Changing

  void Forget() {
    window_.Clear();
    row = 0;
  }

  void TransitionTo(State to, TimePoint now) {
    state = to;
    ++generation;
    Forget();
    probes_.clear();
    succeeded = 0;
    switch (to) {
      case State::kClosed:
        closed_at_ = now;
        if (!BucketAlone()) missing_ = 0;
        return;
      case State::kHalfOpen:
        if (BucketAlone()) missing_ = Size() - 1000;
        return;
      case State::kOpen:
        if (BucketAlone()) missing_ = Size();
        Open(now);
        return;
    }
  }

  void Open(TimePoint now) {
    if (closed_at_ &&
        now >=
            *closed_at_ + policy_.open_duration_reset_after.value_or(length_)) {
      growth_ = 0;
    }
    closed_at_.reset();
    length_ = *policy_.open_duration;
    for (int i = 0; i < growth_ && length_ < *policy_.max_open_duration; ++i) {
      length_ *= static_cast<int>(*policy_.open_duration_multiplier);
    }
    length_ = std::min(length_, *policy_.max_open_duration);
    ++growth_;
    probe_at_ = now + length_;
    const int early = policy_.early_probe_after_rejections.value_or(0);
    early_probe_at_ =
        early > 0 ? now + std::chrono::milliseconds(80) : TimePoint::max();
    early_probe_rejected_ = rejected + static_cast<std::uint64_t>(early);
  }

  void EndMode(TimePoint now) {
    if (mode_until_ && now >= *mode_until_) {
      SetMode(OperatorMode::kAuto, std::nullopt);
    }
  }
  void SetMode(OperatorMode mode, std::optional<TimePoint> until) {
    if (mode_ == OperatorMode::kForcedClosed &&
        mode != OperatorMode::kForcedClosed) {
      if (state == State::kClosed) {
        Forget();
        missing_ = 0;
      } else if (state == State::kHalfOpen && BucketAlone()) {
        missing_ = Size() - 1000;
      }
    }
    mode_ = mode;
    mode_until_ = until;
    ++generation;
  }

  BreakerPolicy policy_;
  WindowModel window_{policy_};
  RetryThrottlePolicy throttle_;
  std::int64_t missing_ = 0;                   // in thousandths of a token
  std::map<std::uint64_t, TimePoint> probes_;  // admitted at
  std::uint64_t last_probe_ = 0;
  int growth_ = 0;
  Duration length_{0};
  std::optional<TimePoint> closed_at_;
  TimePoint probe_at_;
  TimePoint early_probe_at_;
  std::uint64_t early_probe_rejected_ = 0;
  OperatorMode mode_ = OperatorMode::kAuto;
  std::optional<TimePoint> mode_until_;
};

}  // namespace grpc_resilience

#include "admin/messages.h"

#include <cstdint>

#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

pb::TransitionReason ReasonToProto(TransitionReason reason) {
  switch (reason) {
    case TransitionReason::kTripRule:
      return pb::TRIP_RULE;
    case TransitionReason::kServerHint:
      return pb::SERVER_HINT;
    case TransitionReason::kOpenTimeOver:
      return pb::OPEN_TIME_OVER;
    case TransitionReason::kProbeFailed:
      return pb::PROBE_FAILED;
    case TransitionReason::kProbesSucceeded:
      return pb::PROBES_SUCCEEDED;
    case TransitionReason::kReset:
      return pb::RESET;
    case TransitionReason::kModeForced:
      return pb::MODE_FORCED;
    case TransitionReason::kModeOver:
      return pb::MODE_OVER;
  }
  return pb::TRANSITION_REASON_UNSPECIFIED;
}

void AddIgnored(const IgnoredCounts& ignored, pb::Breaker* breaker) {
  for (std::size_t i = 0; i < kIgnoredCauses; ++i) {
    if (ignored.by_cause[i] == 0) continue;
    pb::IgnoredCount* const count = breaker->add_ignored();
    count->set_cause(std::string(ToString(static_cast<IgnoredCause>(i))));
    count->set_count(ignored.by_cause[i]);
  }
}

void SetCounts(const BreakerSnapshot& snapshot, const BreakerRules& rules,
               pb::Breaker* breaker) {
  breaker->set_window_calls(snapshot.window_calls);
  breaker->set_window_failures(snapshot.window_failures);
  breaker->set_window_slow(snapshot.window_slow);
  if (snapshot.failure_rate) breaker->set_failure_rate(*snapshot.failure_rate);
  if (snapshot.slow_call_rate) {
    breaker->set_slow_call_rate(*snapshot.slow_call_rate);
  }
  breaker->set_consecutive_failures(snapshot.consecutive_failures);
  const double max_tokens = static_cast<double>(rules.bucket.size) / kMilli;
  breaker->set_tokens(snapshot.tokens);
  breaker->set_max_tokens(max_tokens);
  breaker->set_retries_allowed(!rules.enabled || !rules.limits_retries ||
                               2 * snapshot.tokens > max_tokens);
  breaker->set_probes_in_flight(snapshot.probes_in_flight);
  breaker->set_probes_succeeded(snapshot.probes_succeeded);
  if (snapshot.ramp_share) breaker->set_ramp_share(*snapshot.ramp_share);
  breaker->set_rejected(snapshot.rejected);
  breaker->set_shadow_would_have_rejected(snapshot.shadow.would_have_rejected);
  breaker->set_shadow_then_succeeded(snapshot.shadow.then_succeeded);
  AddIgnored(snapshot.ignored, breaker);
}

}  // namespace

google::protobuf::Timestamp WallTime::At(TimePoint time) const {
  const std::int64_t wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          wall_now_.time_since_epoch() + (time - now_))
          .count();
  google::protobuf::Timestamp timestamp;
  std::int64_t seconds = wall / kNanosPerSecond;
  std::int64_t nanos = wall % kNanosPerSecond;
  if (nanos < 0) {
    nanos += kNanosPerSecond;
    --seconds;
  }
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<std::int32_t>(nanos));
  return timestamp;
}

google::protobuf::Duration ToProto(Duration duration) {
  google::protobuf::Duration message;
  message.set_seconds(duration.count() / kNanosPerSecond);
  message.set_nanos(
      static_cast<std::int32_t>(duration.count() % kNanosPerSecond));
  return message;
}

Duration FromProto(const google::protobuf::Duration& duration) {
  constexpr std::int64_t kMost = Duration::max().count() / kNanosPerSecond - 1;
  if (duration.seconds() > kMost) return Duration::max();
  if (duration.seconds() < -kMost) return Duration::min();
  return std::chrono::seconds(duration.seconds()) + Duration(duration.nanos());
}

pb::BreakerKey ToProto(const BreakerKey& key) {
  pb::BreakerKey message;
  message.set_target(ValidUtf8(key.target));
  message.set_method(ValidUtf8(key.method));
  message.set_custom(ValidUtf8(key.custom));
  return message;
}

BreakerKey FromProto(const pb::BreakerKey& key) {
  return {key.target(), key.method(), key.custom()};
}

pb::State ToProto(State state) {
  switch (state) {
    case State::kClosed:
      return pb::CLOSED;
    case State::kOpen:
      return pb::OPEN;
    case State::kHalfOpen:
      return pb::HALF_OPEN;
  }
  return pb::STATE_UNSPECIFIED;
}

pb::Mode ToProto(OperatorMode mode) {
  switch (mode) {
    case OperatorMode::kAuto:
      return pb::AUTO;
    case OperatorMode::kForcedOpen:
      return pb::FORCED_OPEN;
    case OperatorMode::kForcedClosed:
      return pb::FORCED_CLOSED;
    case OperatorMode::kShadow:
      return pb::SHADOW;
  }
  return pb::MODE_UNSPECIFIED;
}

OperatorMode FromProto(pb::Mode mode) {
  switch (mode) {
    case pb::FORCED_OPEN:
      return OperatorMode::kForcedOpen;
    case pb::FORCED_CLOSED:
      return OperatorMode::kForcedClosed;
    case pb::SHADOW:
      return OperatorMode::kShadow;
    default:
      return OperatorMode::kAuto;
  }
}

pb::Breaker ToProto(const BreakerSnapshot& snapshot, const BreakerRules& rules,
                    const WallTime& time) {
  pb::Breaker breaker;
  *breaker.mutable_key() = ToProto(snapshot.key);
  breaker.set_state(ToProto(snapshot.state));
  *breaker.mutable_since() = time.At(snapshot.since);
  breaker.set_generation(snapshot.generation);
  breaker.set_probe_ready(snapshot.probe_ready);
  if (snapshot.state == State::kOpen && !snapshot.probe_ready) {
    *breaker.mutable_retry_after() = ToProto(snapshot.retry_after);
  }
  breaker.set_mode(ToProto(snapshot.mode));
  breaker.set_mode_reason(ValidUtf8(snapshot.mode_reason));
  if (snapshot.mode_ends_in) {
    *breaker.mutable_mode_ends_in() = ToProto(*snapshot.mode_ends_in);
  }
  SetCounts(snapshot, rules, &breaker);
  breaker.set_last_failure(ValidUtf8(snapshot.last_failure));
  return breaker;
}

pb::Transition ToProto(const TransitionEvent& event, const WallTime& time) {
  pb::Transition transition;
  *transition.mutable_key() = ToProto(event.key);
  transition.set_from(ToProto(event.from));
  transition.set_to(ToProto(event.to));
  transition.set_reason(ReasonToProto(event.reason));
  transition.set_mode(ToProto(event.mode));
  transition.set_why(ValidUtf8(event.why));
  transition.set_generation(event.generation);
  *transition.mutable_time() = time.At(event.at);
  return transition;
}

}  // namespace grpc_resilience::internal

#include "core/admission_ramp.h"

#include <cstddef>

namespace grpc_resilience::internal {
namespace {

constexpr int kOneCall = 1000;

}  // namespace

void AdmissionRamp::Start(TimePoint now) {
  active_ = true;
  started_ = now;
  step_ = -1;
}

std::optional<int> AdmissionRamp::ShareAt(TimePoint now,
                                          const BreakerRules& rules) const {
  const std::int64_t step = StepAt(now, rules);
  const auto& shares = rules.ramp_permille;
  if (step >= static_cast<std::int64_t>(shares.size())) return std::nullopt;
  return shares[static_cast<std::size_t>(step < 0 ? 0 : step)];
}

bool AdmissionRamp::WouldAdmit(TimePoint now, const BreakerRules& rules) const {
  if (StepAt(now, rules) != step_) return true;  // the first call of a step
  return credit_ + ShareAt(now, rules).value_or(kOneCall) >= kOneCall;
}

bool AdmissionRamp::Admit(TimePoint now, const BreakerRules& rules) {
  EnterStep(now, rules);
  credit_ += ShareAt(now, rules).value_or(kOneCall);
  if (credit_ < kOneCall) return false;
  credit_ -= kOneCall;
  return true;
}

void AdmissionRamp::NoteSuccess(TimePoint now, const BreakerRules& rules) {
  EnterStep(now, rules);
  succeeded_ = true;
}

bool AdmissionRamp::HasSucceededAt(TimePoint now,
                                   const BreakerRules& rules) const {
  return succeeded_ && StepAt(now, rules) == step_;
}

void AdmissionRamp::EnterStep(TimePoint now, const BreakerRules& rules) {
  const std::int64_t step = StepAt(now, rules);
  if (step == step_) return;
  step_ = step;
  credit_ = kOneCall - ShareAt(now, rules).value_or(kOneCall);
  succeeded_ = false;
}

}  // namespace grpc_resilience::internal

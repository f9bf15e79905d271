// Lets a growing share of the calls through: after good probes a recovered
// target gets its traffic back in steps. Which calls is counted, not drawn, so a
// run can be repeated.
//
//   AdmissionRamp ramp;
//   ramp.Start(now);
//   if (ramp.OverAt(now, rules)) Close();
//   else if (ramp.Admit(now, rules)) Send();

#pragma once

#include <cstdint>
#include <optional>

#include "core/breaker_rules.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once. `rules` may change meanwhile.
class AdmissionRamp {
 public:
  void Start(TimePoint now);
  void Stop() { active_ = false; }
  bool active() const { return active_; }

  /// Every share has had its time.
  bool OverAt(TimePoint now, const BreakerRules& rules) const {
    return !ShareAt(now, rules).has_value();
  }
  /// In thousandths; empty when it is over.
  std::optional<int> ShareAt(TimePoint now, const BreakerRules& rules) const;

  // Only while it isn't over:

  bool WouldAdmit(TimePoint now, const BreakerRules& rules) const;
  bool Admit(TimePoint now, const BreakerRules& rules);
  void NoteSuccess(TimePoint now, const BreakerRules& rules);
  /// A call has succeeded at the share of `now`.
  bool HasSucceededAt(TimePoint now, const BreakerRules& rules) const;

 private:
  std::int64_t StepAt(TimePoint now, const BreakerRules& rules) const {
    return (now - started_) / rules.ramp_step;
  }
  /// Begins counting anew when `now` belongs to another step.
  void EnterStep(TimePoint now, const BreakerRules& rules);

  bool active_ = false;
  TimePoint started_;
  std::int64_t step_ = -1;
  int credit_ = 0;  // in thousandths of a call
  bool succeeded_ = false;
};

}  // namespace grpc_resilience::internal

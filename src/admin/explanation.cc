#include "admin/explanation.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "admin/policy_messages.h"
#include "admin/words.h"
#include "core/utf8.h"

namespace grpc_resilience::internal {
namespace {

/// Writes one explanation. Not safe for use from several threads at once.
class Explainer {
 public:
  Explainer(const BreakerSnapshot& snapshot, const BreakerRules& rules,
            const WallTime& time, pb::ExplainBreakerResponse* response)
      : now_(snapshot), rules_(rules), time_(time), response_(*response) {}

  void Run() {
    response_.set_summary(ValidUtf8(Summary()));
    TellState();
    TellRules();
    TellBudget();
    TellMode();
    TellCounts();
  }

 private:
  void Detail(const std::string& text) {
    response_.add_details(ValidUtf8(text));
  }
  void Figure(const char* name, double value, std::string unit = "") {
    pb::Figure* const figure = response_.add_figures();
    figure->set_name(name);
    figure->set_value(value);
    figure->set_unit(std::move(unit));
  }
  static double Seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  // The last change of state; changes of mode aren't.
  const TransitionEvent* LastStateChange() const {
    for (auto event = now_.transitions.rbegin();
         event != now_.transitions.rend(); ++event) {
      if (event->from != event->to) return &*event;
    }
    return nullptr;
  }

  std::string Summary() const {
    std::string text =
        NameOf(now_.key.target, now_.key.method, now_.key.custom);
    if (!rules_.enabled) {
      return text + ": the breaker is switched off by its policy";
    }
    if (now_.mode == OperatorMode::kForcedOpen ||
        now_.mode == OperatorMode::kForcedClosed) {
      return absl::StrCat(
          text, " is ", Str(ToString(now_.mode)),
          now_.mode_ends_in
              ? absl::StrCat(" for another ", Roughly(*now_.mode_ends_in))
              : "",
          " by an operator: ", now_.mode_reason);
    }
    absl::StrAppend(&text, " is ", Str(ToString(now_.state)));
    const TransitionEvent* const last = LastStateChange();
    if (last == nullptr) return text + " and was never anything else";
    absl::StrAppend(&text, " for ", Roughly(time_.now() - last->at), ": ",
                    last->why);
    if (now_.state != State::kOpen) return text;
    if (!now_.last_failure.empty()) {
      absl::StrAppend(&text, "; last failure ", now_.last_failure);
    }
    return absl::StrCat(text, now_.probe_ready ? "; the next call is a probe"
                                               : "; next probe in " +
                                                     Roughly(now_.retry_after));
  }

  void TellState() {
    Figure("state_for", Seconds(time_.now() - now_.since), "s");
    if (now_.state == State::kOpen && !now_.probe_ready) {
      Figure("retry_after", Seconds(now_.retry_after), "s");
    }
    if (now_.state != State::kHalfOpen) return;
    Figure("probes_in_flight", now_.probes_in_flight);
    Figure("probes_succeeded", now_.probes_succeeded);
    std::string text =
        absl::StrCat(now_.probes_in_flight, " probes in flight, ",
                     now_.probes_succeeded, " succeeded");
    if (now_.ramp_share) {
      Figure("ramp_share", *now_.ramp_share);
      absl::StrAppend(&text, "; ", Percent(*now_.ramp_share),
                      " of the calls are let through");
    } else if (rules_.BucketAlone()) {
      absl::StrAppend(&text,
                      "; closes when the bucket is more than half full, opens "
                      "when it is empty");
    } else {
      absl::StrAppend(&text, " of ", rules_.half_open_calls,
                      " that must; one failure opens");
    }
    Detail(text);
  }

  void TellRules() {
    if (!rules_.enabled) return;
    Detail(absl::StrCat("opens when ", OpensWhen(rules_)));
    if (rules_.HasWindow()) TellWindow();
    if (rules_.consecutive_failures > 0) {
      Figure("consecutive_failures", now_.consecutive_failures,
             absl::StrCat("of ", rules_.consecutive_failures));
      Detail(absl::StrCat(now_.consecutive_failures, " of ",
                          rules_.consecutive_failures,
                          " failures in a row so far"));
    }
  }

  void TellWindow() {
    Figure("window_calls", now_.window_calls);
    Figure("window_failures", now_.window_failures);
    std::string text =
        absl::StrCat("in the window: ", now_.window_calls, " calls, ",
                     now_.window_failures, " failed");
    if (now_.failure_rate) {
      Figure("failure_rate", *now_.failure_rate,
             rules_.failure_rate_threshold > 0
                 ? absl::StrCat("of ", Number(rules_.failure_rate_threshold))
                 : "");
      absl::StrAppend(&text, " (", Percent(*now_.failure_rate), ")");
    }
    if (rules_.TimesCalls()) {
      Figure("window_slow", now_.window_slow);
      absl::StrAppend(&text, ", ", now_.window_slow, " slow");
      if (now_.slow_call_rate) {
        Figure("slow_call_rate", *now_.slow_call_rate,
               absl::StrCat("of ", Number(rules_.slow_call_rate_threshold)));
        absl::StrAppend(&text, " (", Percent(*now_.slow_call_rate), ")");
      }
    }
    if (now_.state == State::kClosed &&
        now_.window_calls < rules_.minimum_calls) {
      absl::StrAppend(&text, "; no verdict before ", rules_.minimum_calls);
    }
    Detail(text);
  }

  void TellBudget() {
    const double most = rules_.bucket.Tokens(0);
    Figure("tokens", now_.tokens, absl::StrCat("of ", Number(most)));
    std::string text = absl::StrCat("the token bucket holds ",
                                    Number(now_.tokens), " of ", Number(most));
    if (!rules_.limits_retries) {
      absl::StrAppend(&text, "; retries are not limited");
    } else if (2 * now_.tokens > most) {
      absl::StrAppend(&text, ": retries are allowed");
    } else {
      absl::StrAppend(&text,
                      ": retries are refused until it is more than half full");
    }
    Detail(text);
  }

  void TellMode() {
    if (now_.mode == OperatorMode::kAuto) return;
    std::string text = absl::StrCat("mode ", Str(ToString(now_.mode)),
                                    " by an operator: ", now_.mode_reason);
    if (now_.mode_ends_in) {
      Figure("mode_ends_in", Seconds(*now_.mode_ends_in), "s");
      absl::StrAppend(&text, "; ends in ", Roughly(*now_.mode_ends_in));
    } else {
      absl::StrAppend(&text, "; until somebody ends it");
    }
    if (now_.mode != OperatorMode::kShadow) {
      absl::StrAppend(&text, "; the state would be ",
                      Str(ToString(now_.state)));
    }
    Detail(text);
  }

  void TellCounts() {
    Figure("rejected", static_cast<double>(now_.rejected));
    if (now_.rejected > 0) {
      Detail(absl::StrCat(now_.rejected, " calls rejected so far"));
    }
    if (now_.shadow.would_have_rejected > 0) {
      Figure("shadow_would_have_rejected",
             static_cast<double>(now_.shadow.would_have_rejected));
      Figure("shadow_then_succeeded",
             static_cast<double>(now_.shadow.then_succeeded));
      Detail(absl::StrCat("in SHADOW it would have rejected ",
                          now_.shadow.would_have_rejected, " calls, of which ",
                          now_.shadow.then_succeeded, " succeeded"));
    }
    std::string ignored;
    for (std::size_t i = 0; i < kIgnoredCauses; ++i) {
      const std::uint64_t count = now_.ignored.by_cause[i];
      if (count == 0) continue;
      absl::StrAppend(&ignored, ignored.empty() ? "" : ", ", count, " ",
                      Str(ToString(static_cast<IgnoredCause>(i))));
    }
    if (!ignored.empty()) {
      Detail(absl::StrCat("outcomes that counted as nothing: ", ignored));
    }
  }

  const BreakerSnapshot& now_;
  const BreakerRules& rules_;
  const WallTime& time_;
  pb::ExplainBreakerResponse& response_;
};

}  // namespace

void Explain(const BreakerSnapshot& snapshot, const BreakerRules& rules,
             const WallTime& time, pb::ExplainBreakerResponse* response) {
  Explainer(snapshot, rules, time, response).Run();
}

}  // namespace grpc_resilience::internal

#include "report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

namespace demo {
namespace {

using grpc_resilience::State;

std::string Format(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

std::string Format(const char* format, ...) {
  char text[128];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  return text;
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string SecondsOrNever(const std::optional<Duration>& duration) {
  return duration ? Format("%.2f s", Seconds(*duration)) : "never";
}

std::string Latencies(const Summary& summary) {
  if (!summary.p50_ms) return "-";
  return Format("%.2f / %.2f ms", *summary.p50_ms, *summary.p99_ms);
}

std::optional<Duration> TimeToRecover(const CallLog& log,
                                      const Findings& findings) {
  // Half of what the traffic should give in 500 ms.
  return TimeToRecover(log, findings.recovery, findings.calls_per_second / 4);
}

// " 20 RETRIES_EXHAUSTED, 1 DEADLINE_WOULD_PASS" of the calls that failed.
std::string Reasons(const CallRecords& calls) {
  std::map<std::string, int> count_of;
  for (const CallRecord& call : calls) {
    if (!call.ok) ++count_of[call.reason];
  }
  std::string text;
  for (const auto& [reason, count] : count_of) {
    text += (text.empty() ? " " : ", ") + std::to_string(count) + " " + reason;
  }
  return text.empty() ? " none did" : text;
}

// From `from` to the first change to `state`.
std::optional<Duration> TimeUntil(State state, TimePoint from,
                                  const Transitions& transitions) {
  for (const auto& transition : transitions) {
    if (transition.to == state && transition.at >= from) {
      return transition.at - from;
    }
  }
  return std::nullopt;
}

int CountIn(const Period& period, const Transitions& transitions) {
  int count = 0;
  for (const auto& transition : transitions) {
    if (transition.at >= period.begin && transition.at < period.end) ++count;
  }
  return count;
}

bool Within(const std::optional<Duration>& duration, Duration limit) {
  return duration.has_value() && *duration <= limit;
}

void PrintRow(const char* what, const std::string& plain,
              const std::string& ours) {
  std::printf("  %-44s %18s %18s\n", what, plain.c_str(), ours.c_str());
}

class Checker {
 public:
  void Add(std::string name, bool kept, std::string found) {
    checks_.push_back({std::move(name), kept, std::move(found)});
  }
  std::vector<Check> Take() { return std::move(checks_); }

 private:
  std::vector<Check> checks_;
};

void CheckOutage(const Findings& findings, Checker* checker) {
  const auto opened =
      TimeUntil(State::kOpen, findings.down.begin, findings.transitions);
  checker->Add("the breaker opens within 1 s of the kill",
               Within(opened, std::chrono::seconds(1)), SecondsOrNever(opened));

  const CallRecords ours = findings.ours->EndedIn(findings.down);
  const Summary down = Summarize(ours);
  checker->Add("while down, at most 0.2 attempts per call",
               down.calls > 0 && down.attempts_per_call() <= 0.2,
               Format("%.3f", down.attempts_per_call()));

  // On a busy machine everything is slow; then the plain channel is the measure.
  const Summary rejected = Summarize(Rejected(ours));
  const Summary plain = Summarize(findings.plain->EndedIn(findings.down));
  const double limit_ms = std::max(1.0, plain.p50_ms.value_or(0));
  checker->Add(
      Format("half of the rejected calls take less than %.2f ms", limit_ms),
      rejected.p50_ms.value_or(HUGE_VAL) < limit_ms,
      Format("%d calls, %s", rejected.calls, Latencies(rejected).c_str()));
}

void CheckRecovery(const Findings& findings, Checker* checker) {
  const auto closed =
      TimeUntil(State::kClosed, findings.recovery.begin, findings.transitions);
  checker->Add("the breaker closes within 2 s of the restart",
               Within(closed, std::chrono::seconds(2)), SecondsOrNever(closed));

  const auto recovered = TimeToRecover(*findings.ours, findings);
  checker->Add("99 % of the calls succeed again within 2 s of the restart",
               Within(recovered, std::chrono::seconds(2)),
               SecondsOrNever(recovered));
}

void CheckFailing(const Findings& findings, Checker* checker) {
  const Summary plain = Summarize(findings.plain->EndedIn(findings.failing));
  checker->Add("at 30 % failures, 60 to 80 % of the plain calls succeed",
               plain.success_percent() >= 60 && plain.success_percent() <= 80,
               Format("%.1f %%", plain.success_percent()));

  const Summary ours = Summarize(findings.ours->EndedIn(findings.failing));
  checker->Add("at 30 % failures, at least 98.5 % of ours succeed",
               ours.success_percent() >= 98.5,
               Format("%.2f %%", ours.success_percent()));
  checker->Add("at 30 % failures, at most 1.6 attempts per call",
               ours.calls > 0 && ours.attempts_per_call() <= 1.6,
               Format("%.2f", ours.attempts_per_call()));

  const auto seen = findings.requests_seen_while_failing;
  checker->Add(
      "the backend received as many attempts as reported, within 2 %",
      std::abs(static_cast<double>(seen - ours.attempts)) <=
          0.02 * ours.attempts,
      Format("%lld of %d", static_cast<long long>(seen), ours.attempts));

  const int transitions = CountIn(findings.failing, findings.transitions);
  checker->Add("at 30 % failures, the breaker stays closed", transitions == 0,
               Format("%d transitions", transitions));
}

}  // namespace

void PrintTable(const Findings& findings) {
  struct Column {
    Summary all, down, failing;
    std::string recovered;
  };
  const auto make = [&](const CallLog& log) {
    return Column{Summarize(log.All()), Summarize(log.EndedIn(findings.down)),
                  Summarize(log.EndedIn(findings.failing)),
                  SecondsOrNever(TimeToRecover(log, findings))};
  };
  const Column plain = make(*findings.plain);
  const Column ours = make(*findings.ours);
  const auto row = [&](const char* what, auto text) {
    PrintRow(what, text(plain), text(ours));
  };

  std::printf("\n");
  PrintRow("", "plain", "ours");
  row("calls", [](const Column& c) { return std::to_string(c.all.calls); });
  row("success, whole run", [](const Column& c) {
    return Format("%.1f %%", c.all.success_percent());
  });
  row("success, while 30 % of the requests fail", [](const Column& c) {
    return Format("%.1f %%", c.failing.success_percent());
  });
  row("attempts per call, whole run", [](const Column& c) {
    return Format("%.2f", c.all.attempts_per_call());
  });
  row("attempts per call, while down", [](const Column& c) {
    return Format("%.2f", c.down.attempts_per_call());
  });
  row("latency while down, p50 / p99",
      [](const Column& c) { return Latencies(c.down); });
  row("recovered, after the restart",
      [](const Column& c) { return c.recovered; });
  PrintRow("breaker transitions", "-",
           std::to_string(findings.transitions.size()));
  std::printf("  why ours failed while 30 %% of the requests did:%s\n",
              Reasons(findings.ours->EndedIn(findings.failing)).c_str());
}

std::vector<Check> MakeChecks(const Findings& findings) {
  Checker checker;
  const Summary plain = Summarize(findings.plain->EndedIn(findings.healthy));
  checker.Add("while healthy, every plain call succeeds",
              plain.calls > 0 && plain.ok == plain.calls,
              Format("%d of %d", plain.ok, plain.calls));
  const Summary ours = Summarize(findings.ours->EndedIn(findings.healthy));
  checker.Add("while healthy, every call of ours succeeds",
              ours.calls > 0 && ours.ok == ours.calls,
              Format("%d of %d", ours.ok, ours.calls));
  CheckOutage(findings, &checker);
  CheckRecovery(findings, &checker);
  CheckFailing(findings, &checker);
  const Summary end = Summarize(findings.ours->Within(findings.end));
  checker.Add("in the end, 99 % of ours succeed at one attempt each",
              end.calls > 0 && end.success_percent() >= 99 &&
                  end.attempts_per_call() <= 1.01,
              Format("%.1f %%, %.2f attempts", end.success_percent(),
                     end.attempts_per_call()));
  return checker.Take();
}

bool PrintChecks(const std::vector<Check>& checks) {
  std::string broken;
  std::printf("\nChecks\n");
  for (const Check& check : checks) {
    std::printf("  %-6s %-62s %s\n", check.kept ? "ok" : "FAILED",
                check.name.c_str(), check.found.c_str());
    if (check.kept) continue;
    broken += "\n  " + check.name + " (found: " + check.found + ")";
  }
  std::printf("\n");
  if (broken.empty()) {
    std::printf("demo: OK\n");
  } else {
    std::printf("demo: FAILED%s\n", broken.c_str());
  }
  return broken.empty();
}

}  // namespace demo

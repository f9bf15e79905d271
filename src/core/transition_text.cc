#include "core/transition_text.h"

#include <cstddef>
#include <cstdint>

namespace grpc_resilience::internal {
namespace {

constexpr std::size_t kMaxMessageBytes = 200;

struct Unit {
  std::int64_t nanoseconds;
  const char* name;
};
constexpr Unit kUnits[] = {
    {1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}, {1, " ns"}};

// ".5" for 500, ".042" for 42, "" for 0.
std::string Decimals(std::int64_t thousandths) {
  if (thousandths == 0) return "";
  std::string digits = std::to_string(1000 + thousandths);
  digits[0] = '.';
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

// In the largest unit of which there is at least 1: "15 s", "1.5 s", "93.4 ms".
std::string Approximately(Duration length) {
  for (const Unit& unit : kUnits) {
    if (length.count() < unit.nanoseconds) continue;
    const std::int64_t rest = length.count() % unit.nanoseconds;
    return std::to_string(length.count() / unit.nanoseconds) +
           Decimals(rest * 1000 / unit.nanoseconds) + unit.name;
  }
  return "0 ms";
}

// "1 probe", "2 probes".
std::string Counted(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  text += noun;
  if (count != 1) text += 's';
  return text;
}

bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;  // UTF-8
}

std::string_view Truncated(std::string_view message) {
  if (message.size() <= kMaxMessageBytes) return message;
  std::size_t end = kMaxMessageBytes;
  while (end > 0 && ContinuesCharacter(message[end])) --end;
  return message.substr(0, end);
}

}  // namespace

std::string WindowTrippedText(std::int64_t failures, std::int64_t calls) {
  return Counted(static_cast<std::uint64_t>(failures), "failure") +
         " of the last " + Counted(static_cast<std::uint64_t>(calls), "call");
}

std::string FailureRateText(const WindowTotals& totals, Duration window) {
  if (window <= Duration::zero()) {
    return WindowTrippedText(totals.failures, totals.calls);
  }
  return std::to_string(totals.failures) + " of " +
         std::to_string(totals.calls) + " failed in " + Approximately(window);
}

std::string SlowRateText(const WindowTotals& totals, Duration slow,
                         Duration window) {
  const bool timed = window > Duration::zero();
  std::string text = std::to_string(totals.slow) + " of ";
  text += timed ? std::to_string(totals.calls)
                : "the last " +
                      Counted(static_cast<std::uint64_t>(totals.calls), "call");
  text += " took " + Approximately(slow) + " or longer";
  if (timed) text += " in " + Approximately(window);
  return text;
}

std::string FailuresInRowText(int failures) {
  return Counted(static_cast<std::uint64_t>(failures), "failure") + " in a row";
}

std::string ModeForcedText(OperatorMode mode, std::optional<Duration> ttl,
                           std::string_view reason) {
  std::string text(ToString(mode));
  if (ttl) text += " for " + Approximately(*ttl);
  if (!reason.empty()) {
    text += ": ";
    text += Truncated(reason);
  }
  return text;
}

std::string ModeOverText(OperatorMode mode) {
  return std::string(ToString(mode)) + " is over";
}

std::string RampFailedText(int permille) {
  return "failed at " + std::to_string(permille / 10) +
         Decimals(std::int64_t{permille % 10} * 100) + " % of the calls";
}

std::string SlowCallText(Duration slow) {
  return "a call took " + Approximately(slow) + " or longer";
}

std::string BucketEmptyText(std::uint32_t failures) {
  return "token bucket empty: " + Counted(failures, "failure");
}

std::string ServerHintText(Duration hinted) {
  return "the server asked for " + Approximately(hinted);
}

std::string TimePassedText(Duration open_time) {
  return Approximately(open_time) + " passed";
}

std::string CallsRejectedText(std::uint64_t calls) {
  return Counted(calls, "call") + " rejected";
}

std::string ProbesSucceededText(int probes) {
  return Counted(probes, "probe") + " succeeded";
}

std::string FailureText(StatusCode code, std::string_view message) {
  std::string text = StatusCodeName(code);
  if (!message.empty()) {
    text += ": ";
    text += Truncated(message);
  }
  return text;
}

}  // namespace grpc_resilience::internal

#include "timeline.h"

#include <chrono>
#include <cstdio>

namespace demo {
namespace {

constexpr char kBold[] = "\033[1m";
constexpr char kRed[] = "\033[31m";
constexpr char kGreen[] = "\033[32m";
constexpr char kYellow[] = "\033[33m";
constexpr char kCyan[] = "\033[36m";

std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string Count(int count, std::size_t width) {
  return Padded(std::to_string(count), width);
}

std::string Milliseconds(const std::optional<double>& ms, std::size_t width) {
  if (!ms) return Padded("-", width);
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", *ms);
  return Padded(text, width);
}

const char* ColourOf(grpc_resilience::State state) {
  switch (state) {
    case grpc_resilience::State::kClosed:
      return kGreen;
    case grpc_resilience::State::kOpen:
      return kRed;
    case grpc_resilience::State::kHalfOpen:
      break;
  }
  return kYellow;
}

}  // namespace

void Timeline::PrintLegend() {
  std::lock_guard<std::mutex> lock(mu_);
  std::printf(
      "  ok        calls that succeeded\n"
      "  fail      calls that failed\n"
      "  rej       calls that the open breaker rejected, without an attempt\n"
      "  attempts  tries handed to gRPC; retries are those after a call's "
      "first\n"
      "  p50, p99  latency in ms that 50 %% (99 %%) of the calls didn't "
      "exceed, "
      "whatever became of them\n\n"
      "                 | %s| %s\n"
      "   time phase    |   ok  fail    p50    p99 |   ok  fail   rej retries "
      "attempts    p50    p99\n",
      Coloured("plain gRPC channel        ", kBold).c_str(),
      Coloured("ours: grpc_resilience::CreateChannel", kBold).c_str());
}

void Timeline::PrintPhase(std::string_view name, std::string_view explanation) {
  std::lock_guard<std::mutex> lock(mu_);
  PrintHeldTransition();
  phase_ = std::string(name);
  std::printf("%s %.*s\n", Coloured("== " + phase_ + ":", kBold).c_str(),
              static_cast<int>(explanation.size()), explanation.data());
}

void Timeline::PrintSecond(TimePoint at, const Summary& plain,
                           const Summary& ours) {
  std::lock_guard<std::mutex> lock(mu_);
  PrintHeldTransition();
  const auto failed = [this](const Summary& summary) {
    return Coloured(Count(summary.failed, 6), summary.failed ? kRed : nullptr);
  };
  std::printf(
      "%7.2f %-8s |%s%s%s%s |%s%s%s%s%s%s%s\n", Seconds(at), phase_.c_str(),
      Count(plain.ok, 5).c_str(), failed(plain).c_str(),
      Milliseconds(plain.p50_ms, 7).c_str(),
      Milliseconds(plain.p99_ms, 7).c_str(), Count(ours.ok, 5).c_str(),
      failed(ours).c_str(),
      Coloured(Count(ours.rejected, 6), ours.rejected ? kYellow : nullptr)
          .c_str(),
      Count(ours.retries, 8).c_str(), Count(ours.attempts, 9).c_str(),
      Milliseconds(ours.p50_ms, 7).c_str(),
      Milliseconds(ours.p99_ms, 7).c_str());
}

void Timeline::PrintEvent(TimePoint at, std::string_view what) {
  std::lock_guard<std::mutex> lock(mu_);
  PrintHeldTransition();
  std::printf("%7.2f %s\n", Seconds(at), Coloured(what, kCyan).c_str());
}

void Timeline::PrintTransition(const grpc_resilience::TransitionEvent& event) {
  std::lock_guard<std::mutex> lock(mu_);
  if (event.to == grpc_resilience::State::kHalfOpen) {
    half_open_ = event;
    return;
  }
  std::string change = std::string(ToString(event.from)) + " -> ";
  std::string why = event.why;
  if (half_open_) {
    change.insert(0, std::string(ToString(half_open_->from)) + " -> ");
    why.insert(0, half_open_->why + "; ");
    half_open_.reset();
  }
  std::printf("%7.2f breaker %s%s  (%s)\n", Seconds(event.at), change.c_str(),
              Coloured(ToString(event.to), ColourOf(event.to)).c_str(),
              why.c_str());
}

// Because something else comes between it and the change that ends it.
void Timeline::PrintHeldTransition() {
  if (!half_open_) return;
  std::printf("%7.2f breaker %s -> %s  (%s)\n", Seconds(half_open_->at),
              std::string(ToString(half_open_->from)).c_str(),
              Coloured(ToString(half_open_->to), kYellow).c_str(),
              half_open_->why.c_str());
  half_open_.reset();
}

// `colour` may be null.
std::string Timeline::Coloured(std::string_view text,
                               const char* colour) const {
  if (colours_ == Colours::kOff || colour == nullptr) return std::string(text);
  return colour + std::string(text) + "\033[0m";
}

double Timeline::Seconds(TimePoint at) const {
  return std::chrono::duration<double>(at - start_).count();
}

}  // namespace demo

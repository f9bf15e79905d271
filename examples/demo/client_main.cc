// The demo: the same traffic through a plain gRPC channel and through one of
// ours, while the backend is killed, started again and made to fail.
//
//   demo_client path/to/demo_backend
//
// Ends with "demo: OK" and 0, or names what went wrong and ends with 1.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "backend_process.h"
#include "breaker_log.h"
#include "call_log.h"
#include "channel_arguments.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"
#include "report.h"
#include "timeline.h"
#include "traffic.h"

namespace demo {
namespace {

using std::chrono::seconds;

constexpr int kCallsPerSecond = 250;
constexpr double kFailureRatio = 0.3;
constexpr unsigned kWatchdogSeconds = 60;

TimePoint Now() { return std::chrono::steady_clock::now(); }

/// Both channels, their traffic, and what becomes of it. Not safe for use from
/// several threads at once.
class Comparison {
 public:
  Comparison(const std::string& target,
             const std::shared_ptr<grpc_resilience::Resilience>& resilience,
             Timeline* timeline)
      : timeline_(timeline),
        plain_("plain",
               grpc::CreateCustomChannel(target,
                                         grpc::InsecureChannelCredentials(),
                                         MakeChannelArguments()),
               kCallsPerSecond, &plain_log_),
        ours_("ours",
              grpc_resilience::CreateChannel(resilience, target,
                                             grpc::InsecureChannelCredentials(),
                                             MakeChannelArguments()),
              kCallsPerSecond, &ours_log_) {}

  /// Prints a line after each of the next `length` seconds; returns their begin
  /// and end.
  Period Watch(seconds length) {
    const TimePoint begin = Now();
    for (seconds second(1); second <= length; ++second) {
      std::this_thread::sleep_until(begin + second);
      const Period last{begin + second - seconds(1), begin + second};
      timeline_->PrintSecond(last.end, Summarize(plain_log_.EndedIn(last)),
                             Summarize(ours_log_.EndedIn(last)));
    }
    return {begin, Now()};
  }

  void Stop() {
    plain_.Stop();
    ours_.Stop();
  }

  const CallLog& plain_log() const { return plain_log_; }
  const CallLog& ours_log() const { return ours_log_; }

 private:
  Timeline* const timeline_;
  CallLog plain_log_;
  CallLog ours_log_;
  Traffic plain_;
  Traffic ours_;
};

std::shared_ptr<grpc_resilience::Resilience> MakeResilience() {
  grpc_resilience::Config config;
  config.Method("/shop.Inventory/GetStock").retry.max_attempts = 4;
  auto resilience = grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok())
    throw std::runtime_error(resilience.status().ToString());
  return *resilience;
}

void PlayHealthy(Comparison* comparison, Timeline* timeline,
                 Findings* findings) {
  timeline->PrintPhase(
      "healthy",
      "the backend answers everything; both channels should look the same.");
  findings->healthy = comparison->Watch(seconds(4));
}

void PlayOutage(BackendProcess* backend, Comparison* comparison,
                Timeline* timeline, Findings* findings) {
  timeline->PrintPhase("down",
                       "the backend is killed; the breaker opens and rejects "
                       "calls, but for a probe now and then.");
  findings->healthy.end = findings->down.begin = Now();
  timeline->PrintEvent(
      Now(), "SIGKILL to the backend, pid " + std::to_string(backend->pid()));
  backend->Kill();
  comparison->Watch(seconds(6));

  backend->Start();
  findings->down.end = findings->recovery.begin = Now();
  timeline->PrintPhase("recovery",
                       "it is back on the same port; when a probe gets "
                       "through, the breaker closes.");
  timeline->PrintEvent(findings->recovery.begin,
                       "the new backend accepts connections, pid " +
                           std::to_string(backend->pid()));
  findings->recovery.end = comparison->Watch(seconds(4)).end;
}

void PlayFailing(BackendProcess* backend, Comparison* comparison,
                 Timeline* timeline, Findings* findings) {
  timeline->PrintPhase("failing",
                       "the backend fails 30 % of the requests (UNAVAILABLE); "
                       "ours makes up to 4 attempts.");
  const auto before = backend->SetFailureRatio(kFailureRatio);
  findings->failing = comparison->Watch(seconds(10));
  auto after = backend->SetFailureRatio(0);
  findings->requests_seen_while_failing =
      after["ours"] - (before.count("ours") ? before.at("ours") : 0);
  timeline->PrintPhase("healthy", "the backend answers everything again.");
  findings->end = comparison->Watch(seconds(2));
}

bool Play(const std::string& backend_program) {
  const auto resilience = MakeResilience();
  BackendProcess backend(backend_program);
  backend.Start();
  std::printf(
      "Backend: %s, pid %d. Breaker: the library's defaults.\n"
      "Traffic: %d calls/s on each of two channels, each call with a deadline "
      "of %d s.\n"
      "Both channels try to reconnect every %d to %d ms (gRPC's own backoff of "
      "1 s and more\nwould outlast the demo).\n\n",
      backend.target().c_str(), static_cast<int>(backend.pid()),
      kCallsPerSecond, static_cast<int>(kCallDeadline.count()),
      kInitialReconnectBackoffMs, kMaxReconnectBackoffMs);

  const auto timeline = std::make_shared<Timeline>(
      Now(), isatty(STDOUT_FILENO) ? Colours::kOn : Colours::kOff);
  const auto breaker_log = std::make_shared<BreakerLog>(timeline);
  resilience->AddObserver(breaker_log);
  timeline->PrintLegend();
  Comparison comparison(backend.target(), resilience, timeline.get());

  Findings findings;
  findings.plain = &comparison.plain_log();
  findings.ours = &comparison.ours_log();
  findings.calls_per_second = kCallsPerSecond;
  PlayHealthy(&comparison, timeline.get(), &findings);
  PlayOutage(&backend, &comparison, timeline.get(), &findings);
  PlayFailing(&backend, &comparison, timeline.get(), &findings);
  comparison.Stop();
  findings.transitions = breaker_log->transitions();

  PrintTable(findings);
  return PrintChecks(MakeChecks(findings));
}

}  // namespace
}  // namespace demo

extern "C" void OnAlarm(int /*signal*/) {
  constexpr char kText[] = "demo: FAILED: it should have been over by now\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: demo_client path/to/demo_backend\n";
    return 2;
  }
  // The watchdog ends this process, and the backend ends with it.
  std::signal(SIGALRM, &OnAlarm);
  alarm(demo::kWatchdogSeconds);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return demo::Play(argv[1]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "demo: FAILED: " << error.what() << "\n";
    return 1;
  }
}

// What calls pay while their process is administered: 1000 calls/s through a channel,
// beside 10,000 breakers. Turns without and with an administrator, one after the
// other, in one run.
//
//   bench_admin <server> <peer program> list|watch <pairs> <seconds of a turn>
//
// Prints "<pair> quiet|asked <p50 ms> <p99 ms> <calls>" for each turn. Exit code 3: the
// machine couldn't keep up.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmark/effect/call_record.h"
#include "benchmark/effect/keeping_up.h"
#include "benchmark/effect/load.h"
#include "grpc_resilience/admin_server.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience::bench {
namespace {

constexpr int kBreakers = 10'000;

/// The administrator, a process of its own; "go" and "stop" on its standard input.
/// Not safe for use from several threads at once.
class Administrator {
 public:
  Administrator(const std::string& program, const std::string& address,
                const std::string& what)
      : pipe_(popen((program + " " + address + " " + what).c_str(), "w")) {
    if (pipe_ == nullptr) std::abort();
  }
  ~Administrator() { pclose(pipe_); }
  Administrator(const Administrator&) = delete;
  Administrator& operator=(const Administrator&) = delete;

  void Say(const char* word) {
    if (fprintf(pipe_, "%s\n", word) < 0 || fflush(pipe_) != 0) std::abort();
  }

 private:
  FILE* const pipe_;
};

/// Changes the mode of an idle breaker ten times a second, for watchers. Ends with
/// this object.
class Transitions {
 public:
  explicit Transitions(const std::shared_ptr<Resilience>& resilience)
      : thread_([this, resilience] {
          for (int i = 0; !over_.load(); ++i) {
            (void)resilience->ForceBreakerMode(
                {"idle" + std::to_string(i % kBreakers), ""},
                i % 2 == 0 ? OperatorMode::kShadow : OperatorMode::kAuto,
                std::nullopt, "benchmark");
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}
  ~Transitions() {
    over_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

struct Turn {
  bool asked;
  TimePoint begin;
  TimePoint end;
};

TimePoint Now() { return Clock::Real().Now(); }

int Run(const std::string& server, const std::string& program,
        const std::string& what, int pairs, std::chrono::seconds length) {
  const auto resilience = *Resilience::Create(Config());
  for (int i = 0; i < kBreakers; ++i) {
    resilience->registry().GetOrCreate({"idle" + std::to_string(i), ""});
  }
  AdminServerOptions options;
  options.service.authoriser = LocalReadOnlyAuthoriser();
  const auto admin = AdminServer::Start(resilience, std::move(options));
  if (!admin.ok()) return 1;
  Administrator administrator(program, (*admin)->address(), what);

  Load load(
      CreateChannel(resilience, server, grpc::InsecureChannelCredentials()),
      LoadPlan());
  std::this_thread::sleep_for(kHealthyTime);
  RequireKeepingUp(load.Over());
  std::vector<Turn> turns;
  const Transitions transitions(resilience);
  for (int i = 0; i < 2 * pairs; ++i) {
    // Quiet, asked, asked, quiet: what drifts meets both.
    const bool asked = i % 4 == 1 || i % 4 == 2;
    administrator.Say(asked ? "go" : "stop");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const TimePoint begin = Now();
    std::this_thread::sleep_for(length);
    turns.push_back({asked, begin, Now()});
  }
  const CallRecords calls = load.Stop();
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const CallRecords of = StartedIn(calls, turns[i].begin, turns[i].end);
    if (SuccessPercent(of) < 99) CannotKeepUp("calls fail");
    std::cout << i / 2 << (turns[i].asked ? " asked " : " quiet ")
              << Milliseconds(of, 0.5) << " " << Milliseconds(of, 0.99) << " "
              << of.size() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace grpc_resilience::bench

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return grpc_resilience::bench::Run(argv[1], argv[2], argv[3],
                                     std::atoi(argv[4]),
                                     std::chrono::seconds(std::atoi(argv[5])));
}

// A process to be administered: calls a backend through a protected channel all the
// time, and has two admin servers, one for tokens on loopback and one for local
// callers on a Unix socket.
//
//   admin_subject <backend> <socket path> [breakers]
//
// Prints "ADMIN <address>" when it is ready, "LOG …" for each change, and answers each
// line on stdin with "STATS <calls> <failed> <rejected> <p99 us> <resident KiB>" of the
// time since the last one. Ends with stdin.

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "admin/end_to_end/subject_secrets.h"
#include "grpc_resilience/admin_server.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::mutex out_mu;
void Print(const std::string& line) {
  std::lock_guard<std::mutex> lock(out_mu);
  std::cout << line << std::endl;
}

long ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  long pages = 0;
  statm >> pages >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/// This type is safe to use from several threads at once.
class Stats {
 public:
  void Count(const grpc::Status& status, microseconds took) {
    std::lock_guard<std::mutex> lock(mu_);
    took_.push_back(took);
    if (!status.ok()) ++failed_;
    if (status.error_message().find("circuit breaker") != std::string::npos) {
      ++rejected_;
    }
  }
  std::string Take() {
    std::lock_guard<std::mutex> lock(mu_);
    std::sort(took_.begin(), took_.end());
    const long p99 = took_.empty() ? 0 : took_[took_.size() * 99 / 100].count();
    const std::string line =
        "STATS " + std::to_string(took_.size()) + " " +
        std::to_string(failed_) + " " + std::to_string(rejected_) + " " +
        std::to_string(p99) + " " + std::to_string(ResidentKib());
    took_.clear();
    failed_ = rejected_ = 0;
    return line;
  }

 private:
  std::mutex mu_;
  std::vector<microseconds> took_;
  int failed_ = 0;
  int rejected_ = 0;
};

void CallOnce(Echo::Stub& stub, Stats* stats) {
  EchoRequest request;
  request.set_key("subject");
  request.add_payload(kBodySecret);
  EchoResponse response;
  grpc::ClientContext context;
  context.AddMetadata("x-secret", kMetadataSecret);
  context.set_deadline(std::chrono::system_clock::now() + milliseconds(500));
  const auto start = std::chrono::steady_clock::now();
  const grpc::Status status = stub.Unary(&context, request, &response);
  stats->Count(status, std::chrono::duration_cast<microseconds>(
                           std::chrono::steady_clock::now() - start));
}

Config SubjectConfig() {
  Config config;
  config.DefaultTarget().breaker.consecutive_failures = 5;
  config.DefaultTarget().breaker.recovery.watch_channel = false;
  config.Method("/grpc_resilience.test.Echo/*").retry.max_attempts = 1;
  return config;
}

AdminServerOptions OptionsOf(const std::string& address,
                             AdminAuthoriserPtr authoriser) {
  AdminServerOptions options;
  options.address = address;
  options.service.authoriser = std::move(authoriser);
  options.service.watcher_patience = std::chrono::seconds(2);
  options.service.log = [](const AdminLogEntry& entry) {
    Print("LOG " + ToString(entry));
  };
  return options;
}

int Run(const std::string& backend, const std::string& socket, int breakers) {
  const auto resilience = *Resilience::Create(SubjectConfig());
  AdminTokens tokens;
  tokens.read = kReadToken;
  tokens.change = kChangeToken;
  const auto by_token = AdminServer::Start(
      resilience, OptionsOf("127.0.0.1:0", *StaticTokenAuthoriser(tokens)));
  const auto local = AdminServer::Start(
      resilience, OptionsOf("unix:" + socket, LocalReadOnlyAuthoriser()));
  if (!by_token.ok() || !local.ok()) return 3;
  for (int i = 0; i < breakers; ++i) {
    resilience->registry().GetOrCreate({"idle" + std::to_string(i), ""});
  }
  const auto stub = Echo::NewStub(
      CreateChannel(resilience, backend, grpc::InsecureChannelCredentials()));
  Stats stats;
  std::atomic<bool> over{false};
  std::thread load([&] {
    auto next = std::chrono::steady_clock::now();
    while (!over.load()) {
      CallOnce(*stub, &stats);
      next = std::max(next + milliseconds(2), std::chrono::steady_clock::now());
      std::this_thread::sleep_until(next);
    }
  });
  Print("ADMIN " + (*by_token)->address());
  for (std::string line; std::getline(std::cin, line);) Print(stats.Take());
  over.store(true);
  load.join();
  return 0;
}

}  // namespace
}  // namespace grpc_resilience::test

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 3) return 2;
  return grpc_resilience::test::Run(argv[1], argv[2],
                                    argc > 3 ? std::atoi(argv[3]) : 0);
}

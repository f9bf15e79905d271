// The backend of the effect benchmarks, as a process that can be killed, stopped
// and told to fail.
//
//   bench_effect_backend PORT SEED       PORT 0: the kernel chooses one
//
// Prints "PORT <number>" when it serves and ends when its standard input does, or
// the process that started it. A line on standard input
//
//   <share of the Retried requests that fail> <milliseconds until an answer>
//   <share of them that is slow> <milliseconds until a slow answer>
//   <microseconds of work for each, one after the other>
//
// is answered by "OK <Retried requests seen> <late> <later than the allowance>",
// counted up to then: a request may carry its caller's deadline.

#include <grpcpp/alarm.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "benchmark/bench.grpc.pb.h"
#include "benchmark/effect/caller_deadline.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

using bench::Payload;
using SteadyTime = std::chrono::steady_clock::time_point;

struct Seen {
  std::int64_t requests = 0;
  std::int64_t late = 0;
  std::int64_t later_than_allowed = 0;
};

struct Behaviour {
  double failing_share = 0;
  std::chrono::milliseconds delay{0};
  double slow_share = 0;
  std::chrono::milliseconds slow_delay{0};
  std::chrono::microseconds work{0};
};

class Backend final : public bench::Bench::CallbackService {
 public:
  explicit Backend(unsigned seed)
      : random_(seed), worker_([this] { Work(); }) {}
  ~Backend() override {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      queue_.push_back({});
      queued_.notify_one();
    }
    worker_.join();
  }

  // Fails the share of requests that it is told to.
  grpc::ServerUnaryReactor* Retried(grpc::CallbackServerContext* context,
                                    const Payload* request, Payload*) override {
    auto* reactor = context->DefaultReactor();
    const auto [status, delay] = Draw(*request);
    if (Enqueue(reactor)) return reactor;
    if (delay.count() == 0) {
      reactor->Finish(status);
      return reactor;
    }
    auto* alarm = new grpc::Alarm;
    alarm->Set(std::chrono::system_clock::now() + delay,
               [alarm, reactor, status = status](bool) {
                 reactor->Finish(status);
                 delete alarm;
               });
    return reactor;
  }

  // Fails every other request and has it repeated at once; answers the next one
  // with the nanoseconds between the two.
  grpc::ServerUnaryReactor* Watched(grpc::CallbackServerContext* context,
                                    const Payload*,
                                    Payload* response) override {
    auto* reactor = context->DefaultReactor();
    const SteadyTime now = std::chrono::steady_clock::now();
    const std::lock_guard<std::mutex> lock(mu_);
    first_failed_ = !first_failed_;
    if (first_failed_) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", "0");
      failed_at_ = std::chrono::steady_clock::now();
      reactor->Finish({grpc::StatusCode::UNAVAILABLE, "once more, please"});
    } else {
      response->set_data(
          std::to_string(std::chrono::nanoseconds(now - failed_at_).count()));
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  Seen Behave(const Behaviour& behaviour) {
    const std::lock_guard<std::mutex> lock(mu_);
    behaviour_ = behaviour;
    return seen_;
  }

 private:
  // False: it isn't to be worked for.
  bool Enqueue(grpc::ServerUnaryReactor* reactor) {
    const std::lock_guard<std::mutex> lock(mu_);
    if (behaviour_.work.count() == 0) return false;
    queue_.push_back({reactor, std::chrono::steady_clock::now()});
    queued_.notify_one();
    return true;
  }

  struct Queued {
    grpc::ServerUnaryReactor* reactor = nullptr;  // null: no more
    SteadyTime arrived;
  };
  struct Answer {
    grpc::Status status;
    std::chrono::milliseconds delay;
  };

  Answer Draw(const Payload& request) {
    const std::int64_t late = bench::NanosecondsLate(request);
    const std::lock_guard<std::mutex> lock(mu_);
    ++seen_.requests;
    if (late > 0) ++seen_.late;
    if (late > bench::kLateAllowance.count()) ++seen_.later_than_allowed;
    if (std::bernoulli_distribution(behaviour_.failing_share)(random_)) {
      return {{grpc::StatusCode::UNAVAILABLE, "overloaded"}, behaviour_.delay};
    }
    const bool slow =
        std::bernoulli_distribution(behaviour_.slow_share)(random_);
    return {grpc::Status::OK, slow ? behaviour_.slow_delay : behaviour_.delay};
  }

  // First come, first served.
  void Work() {
    SteadyTime idle_from;
    std::unique_lock<std::mutex> lock(mu_);
    while (true) {
      queued_.wait(lock, [this] { return !queue_.empty(); });
      const Queued next = queue_.front();
      queue_.pop_front();
      if (next.reactor == nullptr) return;
      // A thread that is woken up late works no slower.
      idle_from = std::max(next.arrived, idle_from) + behaviour_.work;
      lock.unlock();
      std::this_thread::sleep_until(idle_from);
      next.reactor->Finish(grpc::Status::OK);
      lock.lock();
    }
  }

  std::mutex mu_;
  std::mt19937 random_;
  Behaviour behaviour_;
  Seen seen_;
  std::condition_variable queued_;
  std::deque<Queued> queue_;
  bool first_failed_ = false;
  SteadyTime failed_at_;
  std::thread worker_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) bench::WrongUsage("bench_effect_backend PORT SEED");
  // A stopped process wouldn't see the end of its input.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Backend backend(static_cast<unsigned>(std::stoul(argv[2])));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1],
                           grpc::InsecureServerCredentials(), &port);
  // A port in use is an error, not something to share.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&backend);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) bench::Malfunction("can't listen");
  std::cout << "PORT " << port << std::endl;
  double share = 0;
  int delay = 0;
  double slow_share = 0;
  int slow_delay = 0;
  int work = 0;
  while (std::cin >> share >> delay >> slow_share >> slow_delay >> work) {
    const Seen seen =
        backend.Behave({share, std::chrono::milliseconds(delay), slow_share,
                        std::chrono::milliseconds(slow_delay),
                        std::chrono::microseconds(work)});
    std::cout << "OK " << seen.requests << " " << seen.late << " "
              << seen.later_than_allowed << std::endl;
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

// Times calls that fail at once: ours rejected by an open breaker, gRPC's own
// fail-fast on a channel in TRANSIENT_FAILURE, and as a floor an interceptor that
// does nothing but hijack, in turn. Nothing listens at the target. Prints for each
// the median of the rounds' mean time of a call, in nanoseconds.

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/client_interceptor.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/calls.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace bench = grpc_resilience::bench;

namespace {

// A port that is taken, so that nobody else gets it, but refuses connections.
class DeadPort {
 public:
  DeadPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (socket_ < 0 || bind(socket_, any, length) != 0 ||
        getsockname(socket_, any, &length) != 0) {
      bench::Malfunction("no port to be had");
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~DeadPort() { close(socket_); }
  DeadPort(const DeadPort&) = delete;
  DeadPort& operator=(const DeadPort&) = delete;

  const std::string& address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

// Does not try to connect again while it is measured.
grpc::ChannelArguments WithoutReconnects() {
  grpc::ChannelArguments args = bench::OwnConnection();
  constexpr int kTenMinutes = 600 * 1000;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kTenMinutes);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kTenMinutes);
  return args;
}

std::shared_ptr<grpc_resilience::Resilience> OpensAfterTwoFailures() {
  grpc_resilience::Config config;
  grpc_resilience::BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.failure_rate_threshold = 0.5;
  breaker.window_calls = 2;
  breaker.minimum_calls = 2;
  breaker.open_duration = std::chrono::hours(1);
  auto resilience = grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  return *resilience;
}

// The least that an interceptor can do to answer a call itself.
class BareHijack final : public grpc::experimental::Interceptor {
 public:
  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      methods->Hijack();
      return;
    }
    if (methods->QueryInterceptionHookPoint(Hook::PRE_RECV_STATUS)) {
      *methods->GetRecvStatus() =
          grpc::Status(grpc::StatusCode::UNAVAILABLE, "");
      methods->FailHijackedRecvMessage();
    }
    methods->Proceed();
  }
};

class BareHijackFactory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new BareHijack;
  }
};

std::shared_ptr<grpc::Channel> MakeBareHijackChannel(
    const std::string& address) {
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      factories;
  factories.push_back(std::make_unique<BareHijackFactory>());
  grpc::ChannelArguments args = WithoutReconnects();
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, grpc::InsecureChannelCredentials(), args, std::move(factories));
}

double NanosecondsPerCall(bench::Bench::Stub& stub, int calls) {
  bench::CallKind kind;
  kind.method = bench::Method::kWatched;
  kind.expected = grpc::StatusCode::UNAVAILABLE;
  const bench::Stopwatch watch;
  bench::RunCalls(stub, kind, calls);
  return watch.Nanoseconds() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_reject ROUNDS CALLS";
  constexpr int kWarmUpCalls = 200;
  if (argc != 3) bench::WrongUsage(kUsage);
  const int rounds = bench::PositiveNumber(argv[1], kUsage);
  const int calls = bench::PositiveNumber(argv[2], kUsage);

  const DeadPort dead;
  const auto credentials = grpc::InsecureChannelCredentials();
  const auto plain = grpc::CreateCustomChannel(dead.address(), credentials,
                                               WithoutReconnects());
  const auto resilience = OpensAfterTwoFailures();
  const auto ours = grpc_resilience::CreateChannel(
      resilience, dead.address(), credentials, WithoutReconnects());
  const auto plain_stub = bench::Bench::NewStub(plain);
  const auto our_stub = bench::Bench::NewStub(ours);
  const auto bare_stub =
      bench::Bench::NewStub(MakeBareHijackChannel(dead.address()));
  NanosecondsPerCall(*plain_stub, kWarmUpCalls);
  NanosecondsPerCall(*bare_stub, kWarmUpCalls);
  NanosecondsPerCall(*our_stub, kWarmUpCalls);

  std::vector<double> plain_ns;
  std::vector<double> our_ns;
  std::vector<double> bare_ns;
  for (int round = 0; round < rounds; ++round) {
    plain_ns.push_back(NanosecondsPerCall(*plain_stub, calls));
    our_ns.push_back(NanosecondsPerCall(*our_stub, calls));
    bare_ns.push_back(NanosecondsPerCall(*bare_stub, calls));
  }
  const auto breaker = resilience->FindBreaker(dead.address());
  if (!breaker || breaker->state != grpc_resilience::State::kOpen) {
    bench::Malfunction("the breaker isn't open");
  }
  if (plain->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    bench::Malfunction("the plain channel isn't in TRANSIENT_FAILURE");
  }
  std::cout << "ours " << bench::Percentile(our_ns, 0.5) << std::endl
            << "plain " << bench::Percentile(plain_ns, 0.5) << std::endl
            << "bare_hijack " << bench::Percentile(bare_ns, 0.5) << std::endl;
  return 0;
}

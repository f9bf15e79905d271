// Times what a stale cache costs: a look-up by itself, keeping a response, and a call
// that an open breaker rejects, without a fallback and answered from the cache. Nothing
// listens at the target. Prints for each the median of single measurements, in
// nanoseconds.
//
//   bench_fallback_lookup VALUES ROUNDS

#include <grpcpp/create_channel.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/bench.grpc.pb.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/stale_cache.h"

namespace bench = grpc_resilience::bench;
using bench::Bench;
using bench::Payload;
using grpc_resilience::FailedCall;
using grpc_resilience::FallbackAnswer;
using grpc_resilience::FallbackReply;
using grpc_resilience::OperatorMode;
using grpc_resilience::StaleCache;
using grpc_resilience::TimePoint;

namespace {

constexpr char kTarget[] = "127.0.0.1:1";
constexpr char kMethod[] = "/grpc_resilience.bench.Bench/Watched";

TimePoint Now() { return grpc_resilience::Clock::Real().Now(); }

class Taker : public FallbackReply::Taker {
 public:
  bool Take(FallbackAnswer answer) override {
    answer_ = std::move(answer);
    return true;
  }
  bool over() const override { return false; }
  const FallbackAnswer& answer() const { return answer_; }

 private:
  FallbackAnswer answer_;
};

Payload RequestOf(int number) {
  Payload request;
  request.set_data("request number " + std::to_string(number));
  return request;
}

std::shared_ptr<FailedCall> CallOf(int number) {
  auto call = std::make_shared<FailedCall>();
  call->target = kTarget;
  call->method = kMethod;
  call->request = RequestOf(number).SerializeAsString();
  call->now = Now();
  return call;
}

std::string ResponseBytes() {
  Payload response;
  response.set_data(std::string(1000, 'x'));
  return response.SerializeAsString();
}

/// A channel whose breaker is open for as long as it takes.
struct Rejecting {
  explicit Rejecting(std::shared_ptr<StaleCache> cache) {
    grpc_resilience::Config config;
    if (cache != nullptr) config.DefaultMethod().fallbacks = {std::move(cache)};
    auto made = grpc_resilience::Resilience::Create(std::move(config));
    if (!made.ok()) bench::Malfunction(made.status().ToString());
    resilience = *made;
    channel = grpc_resilience::CreateChannel(
        resilience, kTarget, grpc::InsecureChannelCredentials());
    stub = Bench::NewStub(channel);
    Payload response;
    grpc::ClientContext context;
    stub->Watched(&context, RequestOf(0), &response);  // makes the breaker
    const absl::Status forced = resilience->ForceBreakerMode(
        {kTarget, ""}, OperatorMode::kForcedOpen, std::nullopt, "benchmark");
    if (!forced.ok()) bench::Malfunction(forced.ToString());
  }

  double Time(int number, bool expected) const {
    const Payload request = RequestOf(number);
    Payload response;
    const bench::Stopwatch watch;
    grpc::ClientContext context;
    const bool ok = stub->Watched(&context, request, &response).ok();
    const double time = watch.Nanoseconds();
    if (ok != expected) bench::Malfunction("not as expected");
    return time;
  }

  std::shared_ptr<grpc_resilience::Resilience> resilience;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Bench::Stub> stub;
};

double TimeLookup(StaleCache* cache, int number) {
  const auto call = CallOf(number);
  auto taker = std::make_shared<Taker>();
  const bench::Stopwatch watch;
  cache->Start(call, FallbackReply(taker));
  const double time = watch.Nanoseconds();
  if (taker->answer().response.empty()) bench::Malfunction("no value");
  return time;
}

double TimeKeep(StaleCache* cache, int number, const std::string& response) {
  const auto call = CallOf(number);
  const bench::Stopwatch watch;
  cache->OnResponse(*call, response, call->now);
  return watch.Nanoseconds();
}

void Print(const char* name, const std::vector<double>& times) {
  std::cout << name << " " << bench::Percentile(times, 0.5) << " "
            << bench::Percentile(times, 0.99) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) bench::Malfunction("bench_fallback_lookup VALUES ROUNDS");
  const int values = std::atoi(argv[1]);
  const int rounds = std::atoi(argv[2]);
  grpc_resilience::StaleCacheOptions options;
  options.max_bytes = std::size_t{4} << 30;
  const auto cache = std::make_shared<StaleCache>(options);
  const std::string response = ResponseBytes();
  for (int i = 0; i < values; ++i) {
    cache->OnResponse(*CallOf(i), response, Now());
  }
  const Rejecting with(cache);
  const Rejecting without(nullptr);
  std::vector<double> lookups;
  std::vector<double> keeps;
  std::vector<double> answered;
  std::vector<double> rejected;
  for (int i = 0; i < rounds; ++i) {
    const int number = static_cast<int>(i * 7919LL % values);
    lookups.push_back(TimeLookup(cache.get(), number));
    keeps.push_back(TimeKeep(cache.get(), number, response));
    answered.push_back(with.Time(number, true));
    rejected.push_back(without.Time(number, false));
  }
  Print("lookup", lookups);
  Print("keep", keeps);
  Print("answered", answered);
  Print("rejected", rejected);
}

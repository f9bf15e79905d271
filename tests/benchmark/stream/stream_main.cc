// Messages per second of one way to move them, every channel in turn in one process.
// Prints for each the median over the rounds. The second plain is an A/A row: what
// it differs from the first by is noise.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/measurements.h"
#include "benchmark/stream/stream_server.h"
#include "benchmark/stream/transfers.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace bench = grpc_resilience::bench;

namespace {

using grpc_resilience::Config;

struct Contender {
  std::string name;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<bench::Streams::Stub> stub;
  std::vector<double> rates;
};

// `windows`: 64 KiB of write-behind, 16 messages of read-ahead.
std::shared_ptr<grpc::Channel> Ours(const std::string& address, bool retried,
                                    bool windows) {
  Config config;
  auto& policy = config.DefaultMethod();
  policy.retry.idempotency = retried
                                 ? grpc_resilience::Idempotency::kIdempotent
                                 : grpc_resilience::Idempotency::kNonIdempotent;
  if (windows) {
    policy.stream.write_behind_bytes = 64 * 1024;
    policy.stream.read_ahead_messages = 16;
  }
  const auto resilience =
      grpc_resilience::Resilience::Create(std::move(config));
  return grpc_resilience::CreateChannel(*resilience, address,
                                        grpc::InsecureChannelCredentials(),
                                        bench::OwnConnection());
}

std::shared_ptr<grpc::Channel> Plain(const std::string& address) {
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   bench::OwnConnection());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "bench_stream ss_sync|ss_reactor|bd_sync|bd_reactor|cs_sync BYTES ROUNDS "
      "MESSAGES";
  if (argc != 5) bench::WrongUsage(kUsage);
  const auto transfer = bench::ParseTransfer(argv[1]);
  const int bytes = bench::PositiveNumber(argv[2], kUsage);
  const int rounds = bench::PositiveNumber(argv[3], kUsage);
  const int messages = bench::PositiveNumber(argv[4], kUsage);
  if (!transfer) bench::WrongUsage(kUsage);

  const bench::StreamServer server;
  const std::string& address = server.address();
  std::vector<Contender> contenders;
  const auto add = [&](std::string name,
                       std::shared_ptr<grpc::Channel> channel) {
    auto stub = bench::Streams::NewStub(channel);
    contenders.push_back({std::move(name), channel, std::move(stub), {}});
  };
  add("plain", Plain(address));
  add("plain_again", Plain(address));
  add("pass", Ours(address, /*retried=*/false, /*windows=*/false));
  add("strict", Ours(address, /*retried=*/true, /*windows=*/false));
  add("windows", Ours(address, /*retried=*/true, /*windows=*/true));
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Each round starts with another one.
      const std::size_t turn = i + static_cast<std::size_t>(round + 1);
      Contender& contender = contenders[turn % contenders.size()];
      const bench::Stopwatch watch;
      bench::Move(*contender.stub, *transfer, messages, bytes);
      // The first round is a warm-up.
      if (round >= 0) {
        contender.rates.push_back(messages / watch.Nanoseconds() * 1e9);
      }
    }
  }
  for (const Contender& contender : contenders) {
    std::cout << contender.name << " "
              << bench::Percentile(contender.rates, 0.5) << std::endl;
  }
  return 0;
}

// The server process of the end-to-end tests. Prints "PORT <number>" when it
// serves, and never outlives the process that started it.
//
//   test_backend [--port=N] [--tls] [--max-connection-age-ms=N] [--fixed-windows]

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>

#include "support/echo_service.h"
#include "support/test_certificate.h"

namespace {

struct Options {
  int port = 0;
  bool tls = false;
  int max_connection_age_ms = 0;
  bool fixed_windows = false;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const int value =
        equals == std::string::npos ? 0 : std::atoi(arg.c_str() + equals + 1);
    if (name == "--port") {
      options->port = value;
    } else if (name == "--tls") {
      options->tls = true;
    } else if (name == "--max-connection-age-ms") {
      options->max_connection_age_ms = value;
    } else if (name == "--fixed-windows") {
      options->fixed_windows = true;
    } else {
      std::cerr << "unknown option: " << arg << "\n";
      return false;
    }
  }
  return true;
}

std::shared_ptr<grpc::ServerCredentials> Credentials(bool tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {grpc_resilience::test::kTestKey,
       grpc_resilience::test::kTestCertificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace

int main(int argc, char** argv) {
  grpc::EnableDefaultHealthCheckService(true);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) return 1;  // the parent is gone already
  Options options;
  if (!Parse(argc, argv, &options)) return 2;

  grpc_resilience::test::HitLog log;
  grpc_resilience::test::FaultSwitch faults;
  std::promise<void> shutdown;
  grpc_resilience::test::EchoService echo(&log, &faults);
  grpc_resilience::test::ControlService control(
      &log, &faults, [&shutdown] { shutdown.set_value(); });

  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(options.port),
                           Credentials(options.tls), &port);
  builder.SetMaxReceiveMessageSize(64 * 1024 * 1024);
  // A port in use is an error, not something to share.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (options.max_connection_age_ms > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               options.max_connection_age_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 1000);
  }
  if (options.fixed_windows) {
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  }
  builder.RegisterService(&echo);
  builder.RegisterService(&control);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "can't listen on port " << options.port << "\n";
    return 3;
  }
  std::cout << "PORT " << port << std::endl;

  shutdown.get_future().wait();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}

// The queue commands of resiliencectl as a program of their own.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "tools/queue/queue_commands.h"

int main(int argc, char** argv) {
  CLI::App app("What waits in the files of grpc-resilience's call queues");
  app.require_subcommand(1);
  absl::Status result;
  grpc_resilience::tools::AddQueueCommands(
      app, std::cout, [&result](const absl::Status& end) { result = end; });
  CLI11_PARSE(app, argc, argv);
  if (result.ok()) return 0;
  std::cerr << std::string(result.message()) << "\n";
  return 1;
}

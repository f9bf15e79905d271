// The server for benchmarks that count or time the client alone. Prints its
// address and serves until its standard input ends.

#include <iostream>
#include <string>

#include "benchmark/echo_server.h"

int main() {
  const grpc_resilience::bench::EchoServer server;
  std::cout << server.address() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

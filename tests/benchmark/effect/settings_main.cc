// Prints the service configs of the gRPC clients, as "CLIENT JSON".

#include <iostream>

#include "benchmark/effect/client_kind.h"

namespace bench = grpc_resilience::bench;

int main() {
  for (const bench::ClientKind kind : bench::kClientKinds) {
    const std::string json = bench::ServiceConfig(kind);
    if (!json.empty()) std::cout << ToString(kind) << " " << json << "\n";
  }
  return 0;
}

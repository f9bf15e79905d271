#include <grpc_resilience/admin/v1/admin.grpc.pb.h>
#include <grpc_resilience/admin_server.h>
#include <grpc_resilience/call_queue.h>
#include <grpc_resilience/channel.h>
#include <grpc_resilience/resilience.h>
#include <grpc_resilience/service_config.h>
#include <grpc_resilience/sqlite_queue_store.h>
#include <grpc_resilience/stale_cache.h>
#include <grpc_resilience/testing/fake_clock.h>
#include <grpc_resilience/window_threshold.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

int main() {
  grpc_resilience::FakeClock clock;
  if (clock.Advance(std::chrono::seconds(1)) != 0) return 1;

  if (grpc_resilience::FailuresToOpen({10, 0.5}).value() != 5) return 1;

  auto import = grpc_resilience::ImportServiceConfig(
      R"({"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "1s"}]})");
  if (!import.ok()) {
    std::cerr << import.status() << "\n";
    return 1;
  }
  if (!grpc_resilience::ExportServiceConfig(import->config).ok()) return 1;

  // Touches no file before the first call that is queued.
  const grpc_resilience::CallQueue queue(
      std::make_shared<grpc_resilience::SqliteQueueStore>("/none/queue"));
  if (queue.stats().queued != 0) return 1;
  import->config.Method("/a.B/C").fallbacks = {
      std::make_shared<grpc_resilience::StaleCache>()};

  auto resilience =
      grpc_resilience::Resilience::Create(std::move(import->config));
  if (!resilience.ok()) {
    std::cerr << resilience.status() << "\n";
    return 1;
  }
  grpc_resilience::AdminServerOptions options;
  options.service.authoriser = grpc_resilience::LocalReadOnlyAuthoriser();
  auto admin =
      grpc_resilience::AdminServer::Start(*resilience, std::move(options));
  if (!admin.ok()) {
    std::cerr << admin.status() << "\n";
    return 1;
  }
  const grpc_resilience::admin::v1::ListBreakersRequest request;
  if (request.page_size() != 0) return 1;

  // Nothing connects before the first call.
  const auto channel =
      grpc_resilience::CreateChannel(*std::move(resilience), "localhost:1",
                                     grpc::InsecureChannelCredentials());
  if (channel == nullptr) return 1;
  std::cout << "OK\n";
  return 0;
}

// From and to gRPC's own service config (JSON), for who moves over from gRPC's
// retries or back.
//
//   auto import = ImportServiceConfig(R"({
//     "methodConfig": [{
//       "name": [{"service": "shop.Inventory"}],
//       "timeout": "2s",
//       "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.05s",
//                       "maxBackoff": "1s", "backoffMultiplier": 2,
//                       "retryableStatusCodes": ["UNAVAILABLE"]}}]})");
//   if (!import.ok()) return import.status();      // every fault at once
//   for (const auto& d : import->differences) LOG(INFO) << ToString(d);
//   auto resilience = Resilience::Create(std::move(import->config));
//
// | service config                | Config                                     |
// |-------------------------------|--------------------------------------------|
// | name {service, method}        | Method("/service/method")                  |
// | name {service}                | Method("/service/*")                       |
// | name {}                       | DefaultMethod()                            |
// | timeout                       | timeout                                    |
// | retryPolicy                   | retry; Jitter::kRatio 0.2, as gRPC C++ has |
// | hedgingPolicy                 | hedging; the methods are kIdempotent       |
// | no retryPolicy                | retry.max_attempts = 1                     |
// | no name {}                    | DefaultMethod().retry.max_attempts = 1     |
// | retryThrottling               | DefaultTarget().throttle                   |
// | no retryThrottling            | the library's default throttle             |
//
// A retryPolicy is taken as the operator's word that its methods may be sent
// twice: gRPC does so whatever they do. UNAVAILABLE and RESOURCE_EXHAUSTED need no
// more than that; when other codes are listed the methods become
// Idempotency::kIdempotent, and the list of differences says so.
//
// Both functions are pure, so safe to use from several threads at once.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "grpc_resilience/config.h"

namespace grpc_resilience {

/// Something that the other side can't say, or says otherwise. A value type.
struct ServiceConfigDifference {
  /// "$.methodConfig[0].waitForReady" of an import, "method \"/a.B/C\":
  /// retry.reserve" of an export.
  std::string path;
  /// As it stands there; long ones are cut.
  std::string value;
  /// What happens instead.
  std::string instead;
};

/// "$.methodConfig[0].waitForReady = true: …".
std::string ToString(const ServiceConfigDifference& difference);

/// A value type.
struct ServiceConfigImport {
  /// Valid (Config::Validate). Add to it what a service config can't say, such as
  /// the circuit breaker's settings.
  Config config;
  /// In the order of the JSON's fields as listed above. An unknown field is one.
  std::vector<ServiceConfigDifference> differences;
};

/// INVALID_ARGUMENT: one line for every fault, with JSON path, value and what is
/// allowed. What gRPC itself refuses is a fault.
absl::StatusOr<ServiceConfigImport> ImportServiceConfig(std::string_view json);

/// A value type.
struct ServiceConfigExport {
  /// What gRPC reads (GRPC_ARG_SERVICE_CONFIG, a name resolver).
  std::string json;
  std::vector<ServiceConfigDifference> differences;
};

/// For the channels of `target`; empty: of the targets without settings of their
/// own. Where gRPC would send a request twice that the config doesn't allow, no
/// retryPolicy is written. INVALID_ARGUMENT: what Config::Validate says.
absl::StatusOr<ServiceConfigExport> ExportServiceConfig(
    const Config& config, std::string_view target = {});

}  // namespace grpc_resilience

// One stream of many messages, in the ways that are compared.

#pragma once

#include <optional>
#include <string_view>

#include "benchmark/bench.grpc.pb.h"

namespace grpc_resilience::bench {

enum class Transfer {
  kDownloadSync,
  kDownloadReactor,
  kPingPongSync,
  kPingPongReactor,
  kUploadSync,
};

/// "ss_sync", "ss_reactor", "bd_sync", "bd_reactor", "cs_sync".
std::optional<Transfer> ParseTransfer(std::string_view name);

/// Moves `count` messages of `bytes` each, and ends the process when one is missing.
void Move(Streams::Stub& stub, Transfer transfer, int count, int bytes);

}  // namespace grpc_resilience::bench

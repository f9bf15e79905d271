// What is valid in a Config, yet hardly meant.
//
//   for (const std::string& warning : Warnings(config)) LOG(WARNING) << warning;
//   // method "/shop.Inventory/*": retry: the worst case of 5 attempts takes
//   // 11500 ms, longer than timeout (10 s), in which 4 attempts fit

#pragma once

#include <string>
#include <vector>

#include "grpc_resilience/config.h"

namespace grpc_resilience {

/// One line for each, naming where, the fields and their values; empty: nothing
/// to say. `config` must be valid (Config::Validate), else empty. Pure, so safe to
/// use from several threads at once.
///
/// Reported today: MethodPolicy::timeout ends before the worst case (WorstCaseOf)
/// of its retries does, so that the last attempts are cut short or never made.
std::vector<std::string> Warnings(const Config& config);

}  // namespace grpc_resilience

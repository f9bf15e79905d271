// "Did you mean": the names that are most like one that isn't there.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace grpc_resilience::tools {

/// At most `most`, the nearest first; none when nothing is near.
std::vector<std::string> NearNames(const std::string& name,
                                   const std::vector<std::string>& names,
                                   std::size_t most);

}  // namespace grpc_resilience::tools

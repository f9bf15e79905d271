// What the effect programs print, for effect.sh to make rows from, and how they
// say what they are doing.

#pragma once

#include <iostream>
#include <string_view>

namespace grpc_resilience::bench {

/// A line "CLIENT SEED NAME VALUE" on standard output.
inline void PrintFigure(std::string_view client, unsigned seed,
                        std::string_view name, double value) {
  std::cout << client << " " << seed << " " << name << " " << value
            << std::endl;
}

/// A line on standard error.
inline void PrintProgress(std::string_view what, std::string_view client,
                          unsigned seed) {
  std::cerr << what << ": " << client << ", seed " << seed << std::endl;
}

}  // namespace grpc_resilience::bench

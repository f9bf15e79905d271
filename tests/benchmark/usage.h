// How a benchmark program ends when it can't measure.

#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace grpc_resilience::bench {

/// Says what is wrong and ends the process with exit code 1.
[[noreturn]] inline void Malfunction(std::string_view what) {
  std::cerr << "benchmark malfunction: " << what << std::endl;
  std::_Exit(1);
}

/// Says how the program is called and ends the process with exit code 2.
[[noreturn]] inline void WrongUsage(std::string_view usage) {
  std::cerr << "usage: " << usage << std::endl;
  std::_Exit(2);
}

/// A command line argument that must be a number ≥ 1.
inline int PositiveNumber(const std::string& text, std::string_view usage) {
  const int number = std::atoi(text.c_str());
  if (number < 1) WrongUsage(usage);
  return number;
}

}  // namespace grpc_resilience::bench

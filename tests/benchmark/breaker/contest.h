// Times contestants in turn, in a new order each round, so that whatever else
// the machine does hits all alike.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace grpc_resilience::bench {

/// Makes that many calls on the thread it is called on.
using MakeCalls = std::function<void(std::int64_t calls)>;

struct Result {
  std::string name;
  double median_ns = 0;  ///< of a call, as each thread sees it
  double spread_ns = 0;  ///< from the lower to the upper quartile
};

/// Not safe for use from several threads at once.
class Contest {
 public:
  /// Each round lasts about `round_ns` per contestant.
  Contest(int threads, int rounds, double round_ns)
      : threads_(threads), rounds_(rounds), round_ns_(round_ns) {}

  void Add(std::string name, MakeCalls make_calls);

  /// In the order of Add.
  std::vector<Result> Run();

 private:
  struct Contestant {
    std::string name;
    MakeCalls make_calls;
    std::int64_t calls = 1;  // per thread and round
    std::vector<double> ns;
  };

  /// Nanoseconds of a call.
  double RunOnce(const Contestant& contestant) const;
  void Calibrate(Contestant& contestant) const;

  const int threads_;
  const int rounds_;
  const double round_ns_;
  std::vector<Contestant> contestants_;
};

}  // namespace grpc_resilience::bench

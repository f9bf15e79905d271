// Clients on the real core and a fake clock: hundreds of them, each with a breaker of
// its own, in less time than they would take.
//
//   FakeClock clock;
//   CallRecords calls = SimulatedClients(plan, &clock, &server).Run();

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "benchmark/effect/call_record.h"
#include "benchmark/effect/client_kind.h"
#include "core/call_session.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/config.h"
#include "grpc_resilience/deadline.h"
#include "grpc_resilience/testing/fake_clock.h"

namespace grpc_resilience::bench {

struct SimulatedAnswer {
  TimePoint at;
  StatusCode code = StatusCode::OK;
};

/// What attempts reach.
class SimulatedServer {
 public:
  virtual ~SimulatedServer() = default;
  /// An attempt arrives at `now`, to be answered before `deadline`; an answer after
  /// it is never seen.
  virtual SimulatedAnswer OnAttempt(TimePoint now,
                                    const Deadline& deadline) = 0;
};

/// A value type.
struct SimulatedPlan {
  int clients = 1;
  double calls_per_second = 1;  ///< of each client
  unsigned seed = 1;
  Duration length{0};
  Duration time_limit = std::chrono::seconds(1);  ///< of each call
  Config config = OursConfig();
  /// False: nothing limits the retries.
  bool with_breaker = true;
  /// Times the load, for a while.
  double spike = 1;
  TimePoint spike_begin = TimePoint::max();
  TimePoint spike_end = TimePoint::max();
};

/// Calls at random times (a Poisson process). Not safe for use from several threads
/// at once.
class SimulatedClients {
 public:
  SimulatedClients(const SimulatedPlan& plan, FakeClock* clock,
                   SimulatedServer* server);
  SimulatedClients(const SimulatedClients&) = delete;
  SimulatedClients& operator=(const SimulatedClients&) = delete;

  /// Every call, when all are over.
  CallRecords Run();

 private:
  class SeededRandom final : public Random {
   public:
    explicit SeededRandom(std::uint64_t seed) : random_(seed) {}
    std::uint64_t Bits() override { return random_(); }

   private:
    std::mt19937_64 random_;
  };
  struct Call {
    Call(const internal::SessionPlan& session_plan, Deadline deadline)
        : session(session_plan, deadline) {}
    internal::CallSession session;
    CallRecord record;
  };

  double NextPause();  // in seconds
  void ScheduleCall(const internal::SessionPlan& plan);
  void Follow(const std::shared_ptr<Call>& call,
              const internal::Decision& decision);
  void Attempt(const std::shared_ptr<Call>& call,
               const internal::Decision& decision);
  void At(TimePoint when, std::function<void()> run);

  SimulatedPlan plan_;
  FakeClock& clock_;
  SimulatedServer& server_;
  const TimePoint end_;
  SeededRandom random_;
  std::mt19937_64 callers_;
  std::exponential_distribution<double> pause_;
  std::vector<std::unique_ptr<CircuitBreaker>> breakers_;
  std::vector<internal::SessionPlan> sessions_;
  CallRecords over_;
};

}  // namespace grpc_resilience::bench

// Clients, each with a breaker of its own, that call one backend at random times:
// the real call session and circuit breaker on a fake clock.

#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/call_session.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/testing/fake_clock.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t Bits() override { return bits_(); }

 private:
  std::mt19937_64 bits_;
};

/// A value type.
struct Traffic {
  int clients = 1;
  double calls_per_second = 1000;  ///< of all clients; Poisson
  /// Of an attempt, failed or not.
  Duration attempt_time = std::chrono::milliseconds(1);
  /// Share of the attempts that fail, by time since the start.
  std::function<double(Duration)> failure_rate;
};

/// What became of the calls of some time. A value type.
struct TrafficCount {
  int calls = 0;     // that began then
  int answered = 0;  // of these, with success
  int attempts = 0;  // of these

  double success_percent() const { return 100.0 * answered / calls; }
  double attempts_per_call() const { return 1.0 * attempts / calls; }
};

/// Not safe for use from several threads at once.
class TrafficSimulation {
 public:
  TrafficSimulation(const Traffic& traffic, const RetryPolicy& retry,
                    std::uint64_t seed)
      : traffic_(traffic), retry_(retry), random_(seed), start_(clock_.Now()) {
    for (int i = 0; i < traffic.clients; ++i) {
      auto client = std::make_unique<Client>();
      client->breaker = std::make_unique<CircuitBreaker>(
          BreakerKey{"backend:443", ""}, BreakerPolicy(), RetryThrottlePolicy(),
          clock_, random_, nullptr);
      client->plan.target = "backend:443";
      client->plan.retry = &retry_;
      client->plan.idempotent = true;
      client->plan.breaker = client->breaker.get();
      client->plan.clock = &clock_;
      client->plan.random = &random_;
      clients_.push_back(std::move(client));
    }
    ScheduleCall();
  }

  /// Ends the calls under way: their permits belong to our breakers.
  ~TrafficSimulation() {
    over_ = true;
    clock_.Advance(std::chrono::minutes(1));
  }

  TrafficSimulation(const TrafficSimulation&) = delete;
  TrafficSimulation& operator=(const TrafficSimulation&) = delete;

  /// Goes on for `length` and counts the calls that begin, as far as they get.
  TrafficCount Run(Duration length) {
    count_ = std::make_shared<TrafficCount>();
    clock_.Advance(length);
    return *count_;
  }

  /// As Run, and on until these calls are over; new ones go on beside them.
  TrafficCount RunToTheEnd(Duration length) {
    Run(length);
    const std::shared_ptr<TrafficCount> counted = count_;
    Run(std::chrono::seconds(5));  // three waits of 1 s at most
    return *counted;
  }

  /// How long until `done`, looked at once a millisecond; at most a minute.
  Duration TimeUntil(const std::function<bool()>& done) {
    const TimePoint from = clock_.Now();
    while (!done() && clock_.Now() - from < std::chrono::minutes(1)) {
      Run(std::chrono::milliseconds(1));
    }
    return clock_.Now() - from;
  }

  int closed_breakers() const {
    int closed = 0;
    for (const auto& client : clients_) {
      if (client->breaker->state() == State::kClosed) ++closed;
    }
    return closed;
  }

 private:
  struct Client {
    std::unique_ptr<CircuitBreaker> breaker;
    SessionPlan plan;
  };

  struct Call {
    explicit Call(const SessionPlan& plan) : session(plan, Deadline::None()) {}
    CallSession session;
    std::shared_ptr<TrafficCount> count;
    StatusCode last_code = StatusCode::UNAVAILABLE;
  };

  void In(Duration wait, std::function<void()> run) {
    clock_.Schedule(clock_.Now() + wait, std::move(run), nullptr);
  }

  void ScheduleCall() {
    const double seconds =
        -std::log1p(-random_.Uniform()) / traffic_.calls_per_second;
    In(Duration(static_cast<std::int64_t>(seconds * 1e9)), [this] {
      if (over_) return;
      BeginCall();
      ScheduleCall();
    });
  }

  void BeginCall() {
    const std::size_t client =
        clients_.size() == 1 ? 0 : random_.Bits() % clients_.size();
    auto call = std::make_shared<Call>(clients_[client]->plan);
    call->count = count_;
    ++call->count->calls;
    Follow(call, call->session.Start());
  }

  void Follow(const std::shared_ptr<Call>& call, const Decision& decision) {
    if (decision.step == Step::kAttempt) {
      ++call->count->attempts;
      const bool fails =
          random_.Uniform() < traffic_.failure_rate(clock_.Now() - start_);
      In(traffic_.attempt_time, [this, call, fails] {
        AttemptEnd end;
        end.code = fails ? StatusCode::UNAVAILABLE : StatusCode::OK;
        call->last_code = end.code;
        Follow(call, call->session.OnAttemptEnd(end));
      });
    } else if (decision.step == Step::kWait) {
      In(decision.wait_until - clock_.Now(),
         [this, call] { Follow(call, call->session.OnWaitOver()); });
    } else if (call->session.reason() == StopReason::kOk) {
      ++call->count->answered;
    }
  }

  const Traffic traffic_;
  const RetryPolicy retry_;
  FakeClock clock_;
  SeededRandom random_;
  const TimePoint start_;
  bool over_ = false;
  std::vector<std::unique_ptr<Client>> clients_;
  /// Of the calls that begin now.
  std::shared_ptr<TrafficCount> count_ = std::make_shared<TrafficCount>();
};

}  // namespace grpc_resilience::internal

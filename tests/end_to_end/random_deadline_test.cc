// 20,000 calls with deadlines that are about as long as the server takes: each
// ends exactly once, none much later than its deadline.

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

// Measures how late this machine wakes threads up right now, so that a busy
// machine isn't taken for a late call.
class SchedulingDelay {
 public:
  SchedulingDelay() : thread_([this] { Measure(); }) {}
  ~SchedulingDelay() { Worst(); }

  /// Ends the measurement.
  std::chrono::nanoseconds Worst() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return worst_;
  }

 private:
  void Measure() {
    while (!stop_) {
      const auto due = std::chrono::steady_clock::now() + milliseconds(1);
      std::this_thread::sleep_until(due);
      worst_ = std::max<std::chrono::nanoseconds>(
          worst_, std::chrono::steady_clock::now() - due);
    }
  }

  std::atomic<bool> stop_{false};
  std::chrono::nanoseconds worst_{0};
  std::thread thread_;
};

class RandomDeadlineTest : public WayTest {};

TEST_P(RandomDeadlineTest, EveryCallEndsOnceAndInTime) {
  const auto channel = NewChannel(RetryConfig(5));
  constexpr int kThreads = 8;
  const int calls = TimeFactor() > 1 ? 20 : 1250 / kThreads;  // 20,000 in all
  SchedulingDelay delay;
  std::atomic<int> latest_us{0};
  std::atomic<int> codes[17] = {};
  std::vector<std::thread> callers;
  for (int thread = 0; thread < kThreads; ++thread) {
    callers.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::uniform_int_distribution<int> limit_us(1000, 20000);
      EchoRequest request;
      request.set_key("random");
      Script* const script = request.mutable_script();
      script->set_by_attempt_header(true);
      script->set_failure_probability(0.4);
      script->set_random_delay_ms(15);
      for (int i = 0; i < calls; ++i) {
        grpc::ClientContext context;
        const auto deadline = std::chrono::system_clock::now() +
                              std::chrono::microseconds(limit_us(random));
        context.set_deadline(deadline);
        EchoResponse response;
        const CallResult result = Call(channel, EchoMethod::kIdempotent,
                                       &context, request, &response);
        const auto late = std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::system_clock::now() - deadline);
        int latest = latest_us;
        while (late.count() > latest &&
               !latest_us.compare_exchange_weak(
                   latest, static_cast<int>(late.count()))) {
        }
        ++codes[result.status.error_code()];
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(latest_us / 1000.0,
            100 * TimeFactor() + Milliseconds(delay.Worst()));
  EXPECT_EQ(codes[StatusCode::OK] + codes[StatusCode::UNAVAILABLE] +
                codes[StatusCode::DEADLINE_EXCEEDED],
            calls * kThreads);
  EXPECT_GT(codes[StatusCode::OK], 0);
  EXPECT_GT(codes[StatusCode::DEADLINE_EXCEEDED], 0);
}

INSTANTIATE_TEST_SUITE_P(, RandomDeadlineTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

// A server that is now healthy, now not, many times a second, under sixteen threads.

#include <atomic>
#include <thread>

#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

class FlippingTest : public EndToEndTest {
 protected:
  FlippingTest() : EndToEndTest(seconds(180)) {}
};

// D13. Afterwards the breaker closes within its open time and a probe, every
// transition was a legal one, and the observers heard all of them in order.
TEST_F(FlippingTest, ClosesSoonAfterHealthReturns) {
  constexpr int kThreads = 16;
  constexpr seconds kTime(30);
  Config config;
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.failure_rate_threshold = 0.5;
  breaker.open_duration = milliseconds(40);
  config.DefaultMethod().retry.max_attempts = 1;
  const auto resilience = MakeResilience(std::move(config));
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = NewChannel(resilience);

  std::atomic<bool> over{false};
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto stub = Echo::NewStub(channel);
      while (!over) {
        grpc::ClientContext context;
        EchoRequest request;
        request.mutable_script()->set_by_attempt_header(true);
        EchoResponse response;
        const bool ok = stub->Unary(&context, request, &response).ok();
        ++(ok ? good : bad);
        if (!ok) std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + kTime;
  while (std::chrono::steady_clock::now() < end) {
    backend().SetGlobalFault(GlobalFault::FAIL, 14);
    std::this_thread::sleep_for(milliseconds(50));
    backend().SetGlobalFault(GlobalFault::NONE);
    std::this_thread::sleep_for(milliseconds(50));
    const auto snapshot = resilience->FindBreaker(backend().target());
    if (snapshot) {
      EXPECT_GE(snapshot->probes_in_flight, 0);
      EXPECT_LE(snapshot->probes_in_flight, 2);
    }
  }
  const auto healthy = std::chrono::steady_clock::now();
  WaitUntil(
      [&] {
        return resilience->FindBreaker(backend().target())->state ==
               State::kClosed;
      },
      "the breaker closes");
  EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - healthy),
            (40 + 100) * TimeFactor());
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 100);

  WaitUntil(
      [&] {
        const auto heard = log->transitions();
        return !heard.empty() && heard.back().to == State::kClosed;
      },
      "the last event");
  const auto heard = log->transitions();
  EXPECT_GT(heard.size(), 100u);
  State state = State::kClosed;
  for (const TransitionEvent& event : heard) {
    EXPECT_EQ(event.from, state);
    EXPECT_NE(event.to, state);
    EXPECT_FALSE(state == State::kClosed && event.to == State::kHalfOpen);
    EXPECT_FALSE(state == State::kOpen && event.to == State::kClosed);
    state = event.to;
  }
}

}  // namespace
}  // namespace grpc_resilience::test

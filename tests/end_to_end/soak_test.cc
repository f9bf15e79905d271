// A33. Memory stays where it is over very many calls of every kind.

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

class SoakTest : public EndToEndTest {
 protected:
  SoakTest() : EndToEndTest(std::chrono::minutes(10)) {}
};

double ResidentMiB() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

int CallsFromEnvironment() {
  const char* const set = std::getenv("GRPC_RESILIENCE_SOAK_CALLS");
  if (set != nullptr) return std::atoi(set);
  return TimeFactor() > 1 ? 10'000 : 100'000;
}

TEST_F(SoakTest, MixedCallsDontGrowTheProcess) {
  const auto channel = NewChannel(RetryConfig(2));

  Config open = RetryConfig(1);
  BreakerPolicy& breaker = open.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::hours(1);
  const auto rejecting = NewChannel(std::move(open));

  const auto call = [&](CallStyle style,
                        const std::shared_ptr<grpc::Channel>& on,
                        const EchoRequest& request, milliseconds limit) {
    grpc::ClientContext context;
    SetDeadline(&context, limit);
    EchoResponse response;
    return Call(style, on, EchoMethod::kIdempotent, &context, request,
                &response)
        .status.error_code();
  };
  EchoRequest fine = NewRequest();
  fine.mutable_script()->set_by_attempt_header(true);
  EchoRequest retried = fine;
  retried.mutable_script()->set_code(StatusCode::UNAVAILABLE);
  retried.mutable_script()->set_fail_times(1);
  EchoRequest failing = retried;
  failing.mutable_script()->set_fail_times(-1);
  EchoRequest hanging = fine;
  hanging.mutable_script()->set_hang_times(-1);
  EXPECT_EQ(call(CallStyle::kSync, rejecting, failing, seconds(10)),
            StatusCode::UNAVAILABLE);

  const auto cancelled = [&](CallStyle style) {
    grpc::ClientContext context;
    EchoResponse response;
    RunningCall running = Start(style, channel, EchoMethod::kIdempotent,
                                &context, hanging, &response);
    context.TryCancel();
    return running.Wait().status.error_code();
  };
  // Of 20 calls: 12 OK, 3 retried, 3 rejected, 1 cancelled, 1 out of time.
  std::atomic<int> wrong{0};
  const auto make_call = [&](int i) {
    const auto style = static_cast<CallStyle>(i / 20 % 8);
    const int kind = i % 20;
    if (kind < 12) {
      wrong += call(style, channel, fine, seconds(10)) != StatusCode::OK;
    } else if (kind < 15) {
      wrong += call(style, channel, retried, seconds(10)) != StatusCode::OK;
    } else if (kind < 18) {
      wrong +=
          call(style, rejecting, fine, seconds(10)) != StatusCode::UNAVAILABLE;
    } else if (kind < 19) {
      wrong += cancelled(style) != StatusCode::CANCELLED;
    } else {
      wrong += call(style, channel, hanging, milliseconds(1)) !=
               StatusCode::DEADLINE_EXCEEDED;
    }
  };
  const auto run = [&](int count) {
    std::atomic<int> next{0};
    std::vector<std::thread> callers;
    for (int thread = 0; thread < 4; ++thread) {
      callers.emplace_back([&] {
        for (int i = next++; i < count; i = next++) make_call(i);
      });
    }
    for (std::thread& caller : callers) caller.join();
  };
  run(10'000);
  const double before = ResidentMiB();
  run(CallsFromEnvironment());
  const double after = ResidentMiB();
  EXPECT_EQ(wrong, 0);
  RecordProperty("growth_mib", std::to_string(after - before));
  if (TimeFactor() == 1) {
    EXPECT_LT(after - before, 2.0);
  }
}

}  // namespace
}  // namespace grpc_resilience::test

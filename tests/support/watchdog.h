// Bounds every wait of the end-to-end tests: a lost wake-up is a hang, and a hang
// must name the test it happened in.
//
//   Watchdog watchdog(std::chrono::seconds(30));        // of the running test
//   WaitUntil([&] { return backend.Hits("k").count() == 3; }, "3 hits");

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace grpc_resilience::test {

/// 1, or more where the build is slow (sanitizers) or the environment variable
/// GRPC_RESILIENCE_TEST_TIME_FACTOR says so. Limits of waits are multiplied by it;
/// bounds that tests assert are multiplied where they would else be noise.
double TimeFactor();

template <typename Rep, typename Period>
std::chrono::nanoseconds Scaled(std::chrono::duration<Rep, Period> time) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(
      static_cast<double>(std::chrono::nanoseconds(time).count()) *
      TimeFactor()));
}

/// "AttemptsTest.Foo/kSync", or "(no test)".
std::string CurrentTestName();

/// Ends the process with the test's name when it lives longer than `limit`
/// (scaled). Not safe for use from several threads at once.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::nanoseconds limit,
                    std::string name = CurrentTestName());
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Run(std::chrono::nanoseconds limit, const std::string& name);

  std::mutex mu_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

/// Polls until `condition` holds; ends the process when it doesn't within `limit`
/// (scaled), naming the test and `what`.
void WaitUntil(const std::function<bool()>& condition, const std::string& what,
               std::chrono::nanoseconds limit = std::chrono::seconds(10));

}  // namespace grpc_resilience::test

#include "support/watchdog.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GRPC_RESILIENCE_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRPC_RESILIENCE_TEST_SANITIZED 1
#endif

namespace grpc_resilience::test {
namespace {

[[noreturn]] void Die(const std::string& name, const std::string& what,
                      std::chrono::nanoseconds limit) {
  std::fprintf(stderr, "\nwatchdog: %s: %s after %.1f s\n", name.c_str(),
               what.c_str(), std::chrono::duration<double>(limit).count());
  std::fflush(stderr);
  std::abort();
}

}  // namespace

double TimeFactor() {
  static const double factor = [] {
    if (const char* set = std::getenv("GRPC_RESILIENCE_TEST_TIME_FACTOR")) {
      return std::atof(set);
    }
#ifdef GRPC_RESILIENCE_TEST_SANITIZED
    return 5.0;
#else
    return 1.0;
#endif
  }();
  return factor;
}

std::string CurrentTestName() {
  const testing::TestInfo* info =
      testing::UnitTest::GetInstance()->current_test_info();
  if (info == nullptr) return "(no test)";
  return std::string(info->test_suite_name()) + "." + info->name();
}

Watchdog::Watchdog(std::chrono::nanoseconds limit, std::string name)
    : thread_([this, limit = Scaled(limit), name = std::move(name)] {
        Run(limit, name);
      }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    done_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void Watchdog::Run(std::chrono::nanoseconds limit, const std::string& name) {
  std::unique_lock<std::mutex> lock(mu_);
  const bool done = over_.wait_for(lock, limit, [this] { return done_; });
  if (!done) Die(name, "still running", limit);
}

void WaitUntil(const std::function<bool()>& condition, const std::string& what,
               std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + Scaled(limit);
  auto pause = std::chrono::microseconds(200);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      Die(CurrentTestName(), "waited in vain for \"" + what + "\"",
          Scaled(limit));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
}

}  // namespace grpc_resilience::test

#include "fallback/workers.h"

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

namespace grpc_resilience::internal {

Workers& Workers::OfProcess() {
  static auto* const workers = new Workers;
  return *workers;
}

bool Workers::Run(std::function<void()> work) {
  absl::MutexLock lock(&mu_);
  if (waiting_.size() >= kMaxWaiting) return false;
  if (waiting_.size() >= static_cast<std::size_t>(idle_) &&
      threads_ < kMaxThreads && !StartThread() && threads_ == 0) {
    return false;
  }
  waiting_.push_back(std::move(work));
  return true;
}

bool Workers::StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
  try {
    std::thread([this] { Loop(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  ++threads_;
  return true;
}

void Workers::Loop() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mu_);
      ++idle_;
      mu_.Await(absl::Condition(
          +[](std::deque<std::function<void()>>* waiting) {
            return !waiting->empty();
          },
          &waiting_));
      --idle_;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace grpc_resilience::internal

// Threads for work that may block: at most four, started by the first work that finds
// none idle, alive until the process ends.

#pragma once

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. Never destroyed: work may
/// still be at it when the program leaves main.
class Workers {
 public:
  static Workers& OfProcess();

  /// False: every thread is busy and too much waits already, or no thread is to be
  /// had. `work` must not throw.
  bool Run(std::function<void()> work);

 private:
  Workers() = default;
  bool StartThread();
  void Loop();

  static constexpr int kMaxThreads = 4;
  static constexpr std::size_t kMaxWaiting = 1000;

  absl::Mutex mu_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mu_);
  int threads_ ABSL_GUARDED_BY(mu_) = 0;
  int idle_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal

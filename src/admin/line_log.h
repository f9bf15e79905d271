// Writes lines to a file descriptor that may block, such as stderr into a pipe that
// nobody reads, without ever making the caller wait.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// A thread of its own writes, and runs while there are lines only. This type is
/// safe to use from several threads at once.
class LineLog {
 public:
  /// At most `most` lines wait. The descriptor is never closed here.
  LineLog(int fd, std::size_t most);
  /// Waits for lines that aren't written yet, but not for long; then a thread may be
  /// left behind that is stuck in its line.
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  /// Without a line end. Dropped when too many wait; the next line that isn't says
  /// how many were.
  void Add(std::string line) const;

 private:
  /// Outlives the log for as long as the thread runs.
  class Queue : public std::enable_shared_from_this<Queue> {
   public:
    Queue(int fd, std::size_t most) : fd_(fd), most_(most) {}
    void Add(std::string line) ABSL_LOCKS_EXCLUDED(mu_);
    void Close(Duration patience) ABSL_LOCKS_EXCLUDED(mu_);

   private:
    bool Idle() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !running_; }
    void Run() ABSL_LOCKS_EXCLUDED(mu_);

    const int fd_;
    const std::size_t most_;
    absl::Mutex mu_;
    bool running_ ABSL_GUARDED_BY(mu_) = false;
    std::uint64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
    std::deque<std::string> lines_ ABSL_GUARDED_BY(mu_);
  };

  const std::shared_ptr<Queue> queue_;
};

}  // namespace grpc_resilience::internal

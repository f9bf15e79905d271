#include "admin/line_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kLongestDrain = std::chrono::milliseconds(200);

// What can't be written is lost: there is nobody to tell.
void WriteAll(int fd, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count =
        write(fd, text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd waiting{fd, POLLOUT, 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// The application's signals aren't for this thread, nor does a reader that has gone
// end the process.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

LineLog::LineLog(int fd, std::size_t most)
    : queue_(std::make_shared<Queue>(fd, most)) {}

LineLog::~LineLog() { queue_->Close(kLongestDrain); }

void LineLog::Add(std::string line) const { queue_->Add(std::move(line)); }

void LineLog::Queue::Add(std::string line) {
  absl::MutexLock lock(&mu_);
  if (lines_.size() >= most_) {
    ++dropped_;
    return;
  }
  if (dropped_ > 0) {
    absl::StrAppend(&line, " (", dropped_, " lines before it were dropped)");
    dropped_ = 0;
  }
  line += '\n';
  lines_.push_back(std::move(line));
  if (running_) return;
  try {
    std::thread([self = shared_from_this()] { self->Run(); }).detach();
    running_ = true;
  } catch (...) {
    // No thread to be had: the next line tries again.
  }
}

void LineLog::Queue::Run() {
  BlockSignals();
  while (true) {
    std::string line;
    {
      absl::MutexLock lock(&mu_);
      if (lines_.empty()) {
        running_ = false;
        return;
      }
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    WriteAll(fd_, line);
  }
}

void LineLog::Queue::Close(Duration patience) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithTimeout(absl::Condition(this, &Queue::Idle),
                       absl::FromChrono(patience));
  lines_.clear();
}

}  // namespace grpc_resilience::internal

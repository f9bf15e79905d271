// A pipe that takes nothing more until somebody reads.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace grpc_resilience::test {

/// Not safe for use from several threads at once.
class FullPipe {
 public:
  FullPipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    from_ = ends[0];
    to_ = ends[1];
    // The flag belongs to the end, so it is taken back: writers wait.
    EXPECT_EQ(fcntl(to_, F_SETFL, O_NONBLOCK), 0);
    const std::string page(4096, '.');
    ssize_t count = 0;
    while ((count = write(to_, page.data(), page.size())) > 0) {
      filling_ += static_cast<std::size_t>(count);
    }
    EXPECT_EQ(fcntl(to_, F_SETFL, 0), 0);
  }
  ~FullPipe() {
    close(from_);
    CloseWritingEnd();
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

  int writing_end() const { return to_; }
  void CloseWritingEnd() {
    if (to_ >= 0) close(to_);
    to_ = -1;
  }
  /// The next line that was written after the filling; waits for it.
  std::string ReadLine() {
    while (true) {
      const std::size_t end = read_.find('\n');
      if (end != std::string::npos) {
        const std::string line = read_.substr(filling_, end - filling_);
        read_.erase(0, end + 1);
        filling_ = 0;
        return line;
      }
      char buffer[65536];
      const ssize_t count = read(from_, buffer, sizeof(buffer));
      if (count <= 0) return "";
      read_.append(buffer, static_cast<std::size_t>(count));
    }
  }

 private:
  int from_ = -1;
  int to_ = -1;
  std::size_t filling_ = 0;
  std::string read_;
};

}  // namespace grpc_resilience::test

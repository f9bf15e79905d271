// A file name of its own for each test, gone afterwards.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace grpc_resilience::test {

/// Not safe for use from several threads at once.
class QueueFile {
 public:
  QueueFile() {
    std::string folder =
        (std::filesystem::temp_directory_path() / "queue-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << "no folder";
    folder_ = folder;
  }
  ~QueueFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  QueueFile(const QueueFile&) = delete;
  QueueFile& operator=(const QueueFile&) = delete;

  std::string path() const { return (folder_ / "calls.queue").string(); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace grpc_resilience::test

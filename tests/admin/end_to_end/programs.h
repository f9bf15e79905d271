// Programs that the tests start.

#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc_resilience::test {

/// Where they are (programs_paths.cc).
std::string SubjectPath();
std::string ResiliencectlPath();

struct Finished {
  int exit_status = -1;
  std::string out;
  std::string err;
};
/// Runs a program to its end. `environment`: "NAME=value", besides the test's own.
Finished RunProgram(const std::vector<std::string>& words,
                    const std::vector<std::string>& environment = {});
/// The same with a terminal as stdout; `out` is what it was sent.
Finished RunOnTerminal(const std::vector<std::string>& words);

/// The administered process of subject_main.cc; ends with this object. Not safe for
/// use from several threads at once. Start it from the main thread.
class Subject {
 public:
  struct Stats {
    int calls = 0;
    int failed = 0;
    int rejected = 0;
    long p99_us = 0;
    long resident_kib = 0;
  };

  explicit Subject(const std::string& backend, int breakers = 0);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  /// For token holders.
  const std::string& address() const { return address_; }
  /// For local readers.
  std::string socket_address() const { return "unix:" + socket_path_; }
  /// Since the last time.
  Stats TakeStats();
  /// Changes that were logged, up to the last TakeStats.
  const std::vector<std::string>& log() const { return log_; }

 private:
  std::string ReadLine();
  /// The rest of the next line with that first word.
  std::string ReadAnswer(const std::string& word);

  std::string folder_;
  std::string socket_path_;
  std::string address_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string read_;
  std::vector<std::string> log_;
};

}  // namespace grpc_resilience::test

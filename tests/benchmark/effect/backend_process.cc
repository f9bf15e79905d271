#include "benchmark/effect/backend_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "benchmark/usage.h"

namespace grpc_resilience::bench {
namespace {

constexpr std::chrono::seconds kLimit(10);

struct Pipe {
  int read_end;
  int write_end;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Malfunction("no pipe");
  return {ends[0], ends[1]};
}

void Close(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

}  // namespace

void BackendProcess::Start() {
  const Pipe input = MakePipe();
  const Pipe output = MakePipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write_end, STDOUT_FILENO);
  std::string program = program_;
  std::string port = std::to_string(port_);
  std::string seed = std::to_string(seed_);
  char* argv[] = {program.data(), port.data(), seed.data(), nullptr};
  const int error =
      posix_spawn(&pid_, program_.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input.read_end);
  close(output.write_end);
  input_ = input.write_end;
  output_ = output.read_end;
  if (error != 0) {
    pid_ = -1;
    Malfunction("can't start " + program_);
  }
  std::istringstream line(ReadLine());
  std::string word;
  if (!(line >> word >> port_) || word != "PORT") {
    Malfunction("the backend doesn't start");
  }
}

void BackendProcess::Kill() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  Close(&input_);
  Close(&output_);
}

void BackendProcess::Stop() {
  kill(pid_, SIGSTOP);
  // Signals arrive in their own time.
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED);
}

void BackendProcess::Continue() { kill(pid_, SIGCONT); }

BackendProcess::Seen BackendProcess::Behave(double failing_share,
                                            std::chrono::milliseconds delay,
                                            const Slowness& slowness,
                                            std::chrono::microseconds work) {
  const std::string command = std::to_string(failing_share) + " " +
                              std::to_string(delay.count()) + " " +
                              std::to_string(slowness.share) + " " +
                              std::to_string(slowness.delay.count()) + " " +
                              std::to_string(work.count()) + "\n";
  if (write(input_, command.data(), command.size()) !=
      static_cast<ssize_t>(command.size())) {
    Malfunction("the backend can't be told");
  }
  std::istringstream line(ReadLine());
  std::string word;
  Seen seen;
  if (!(line >> word >> seen.requests >> seen.late >>
        seen.later_than_allowed) ||
      word != "OK") {
    Malfunction("the backend doesn't answer");
  }
  return seen;
}

std::string BackendProcess::ReadLine() {
  std::string line;
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  while (line.empty() || line.back() != '\n') {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    pollfd waiting{output_, POLLIN, 0};
    char byte = 0;
    if (left.count() <= 0 ||
        poll(&waiting, 1, static_cast<int>(left.count())) <= 0 ||
        read(output_, &byte, 1) != 1) {
      break;
    }
    line += byte;
  }
  return line;
}

}  // namespace grpc_resilience::bench

#include "backend_process.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>

#include "channel_arguments.h"

namespace demo {
namespace {

constexpr std::chrono::seconds kStartLimit(10);

struct Pipe {
  int read_end;
  int write_end;
};

Pipe MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {fds[0], fds[1]};
}

// The first line, or what there was when the backend ended or the time was up.
std::string ReadLine(int fd) {
  std::string line;
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (line.empty() || line.back() != '\n') {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    char byte;
    if (left.count() <= 0 ||
        poll(&waiting, 1, static_cast<int>(left.count())) <= 0 ||
        read(fd, &byte, 1) != 1) {
      break;
    }
    line += byte;
  }
  return line;
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
  char* argv[] = {program.data(), port.data(), nullptr};
  const int error =
      posix_spawn(&pid_, program_.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input.read_end);
  close(output.write_end);
  stdin_fd_ = input.write_end;
  if (error != 0) pid_ = -1;
  const std::string line = error == 0 ? ReadLine(output.read_end) : "";
  close(output.read_end);
  if (error != 0) {
    throw std::runtime_error("can't start " + program_ + ": " +
                             std::strerror(error));
  }
  if (line.rfind("PORT ", 0) != 0) {
    throw std::runtime_error(program_ + " didn't start");
  }
  port_ = std::stoi(line.substr(std::strlen("PORT ")));
  control_ = shop::BackendControl::NewStub(grpc::CreateCustomChannel(
      target(), grpc::InsecureChannelCredentials(), MakeChannelArguments()));
}

void BackendProcess::Kill() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  if (stdin_fd_ >= 0) close(stdin_fd_);
  stdin_fd_ = -1;
}

BackendProcess::RequestsSeen BackendProcess::SetFailureRatio(double ratio) {
  shop::SetFailureRatioRequest request;
  request.set_ratio(ratio);
  shop::SetFailureRatioResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(5));
  context.set_wait_for_ready(true);
  const grpc::Status status =
      control_->SetFailureRatio(&context, request, &response);
  if (!status.ok()) {
    throw std::runtime_error("SetFailureRatio: " + status.error_message());
  }
  return {response.requests_seen().begin(), response.requests_seen().end()};
}

}  // namespace demo

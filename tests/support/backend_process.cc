#include "support/backend_process.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/test_certificate.h"
#include "support/watchdog.h"

namespace grpc_resilience::test {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "backend: %s: %s\n", CurrentTestName().c_str(),
               what.c_str());
  std::abort();
}

// The number after "PORT " in the first line.
int ReadPort(int fd) {
  std::string line;
  const auto end =
      std::chrono::steady_clock::now() + Scaled(std::chrono::seconds(20));
  while (line.find('\n') == std::string::npos) {
    pollfd waiting{fd, POLLIN, 0};
    if (std::chrono::steady_clock::now() > end) return 0;
    if (poll(&waiting, 1, 100) <= 0) continue;
    char buffer[128];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got <= 0) return 0;
    line.append(buffer, static_cast<std::size_t>(got));
  }
  return line.rfind("PORT ", 0) == 0 ? std::atoi(line.c_str() + 5) : 0;
}

void CheckOk(const grpc::Status& status, const char* what) {
  if (!status.ok()) Die(std::string(what) + ": " + status.error_message());
}

void SetShortDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::milliseconds>(
                            Scaled(std::chrono::seconds(10))));
  context->set_wait_for_ready(true);
}

}  // namespace

std::unique_ptr<BackendProcess> BackendProcess::Start(const std::string& path,
                                                      Args args) {
  std::unique_ptr<BackendProcess> backend(
      new BackendProcess(path, std::move(args)));
  backend->Spawn(backend->args_);
  const bool tls =
      std::count(backend->args_.begin(), backend->args_.end(), "--tls") > 0;
  grpc::ChannelArguments channel_args;
  channel_args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  channel_args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = kTestCertificate;
  backend->control_ = Control::NewStub(grpc::CreateCustomChannel(
      backend->target(),
      tls ? grpc::SslCredentials(ssl) : grpc::InsecureChannelCredentials(),
      channel_args));
  return backend;
}

BackendProcess::~BackendProcess() { Kill(); }

void BackendProcess::Spawn(const Args& args) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) Die("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  std::vector<std::string> words = {path_};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = posix_spawn(&pid_, path_.c_str(), &actions, nullptr,
                                 argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  if (failed != 0) Die("can't start " + path_ + ": " + std::strerror(failed));
  const int port = ReadPort(fds[0]);
  close(fds[0]);
  if (port == 0) Die(path_ + " didn't name its port");
  port_ = port;
}

void BackendProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void BackendProcess::Restart() {
  Kill();
  Args args = args_;
  args.push_back("--port=" + std::to_string(port_));
  Spawn(args);
}

void BackendProcess::Freeze() {
  kill(pid_, SIGSTOP);
  // The signal takes a moment to reach every thread.
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void BackendProcess::Unfreeze() { kill(pid_, SIGCONT); }

HitsResponse BackendProcess::Hits(const std::string& key) {
  HitsRequest request;
  request.set_key(key);
  HitsResponse response;
  grpc::ClientContext context;
  SetShortDeadline(&context);
  CheckOk(control_->Hits(&context, request, &response), "Hits");
  return response;
}

void BackendProcess::Reset() {
  ResetResponse response;
  grpc::ClientContext context;
  SetShortDeadline(&context);
  CheckOk(control_->Reset(&context, {}, &response), "Reset");
}

void BackendProcess::SetGlobalFault(const GlobalFault& fault) {
  SetGlobalFaultResponse response;
  grpc::ClientContext context;
  SetShortDeadline(&context);
  CheckOk(control_->SetGlobalFault(&context, fault, &response),
          "SetGlobalFault");
}

void BackendProcess::SetGlobalFault(GlobalFault::Kind kind, int code) {
  GlobalFault fault;
  fault.set_kind(kind);
  fault.set_code(code);
  SetGlobalFault(fault);
}

}  // namespace grpc_resilience::test

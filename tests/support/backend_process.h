// A server in a process of its own, so that tests can kill, freeze and restart it.
//
//   auto backend = BackendProcess::Start(BackendPath());
//   ... CreateChannel(resilience, backend->target(), ...) ...
//   EXPECT_EQ(backend->Hits("key").count(), 3);
//
// Start it from the main thread: the server dies with the thread that started it.

#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

/// Ends the process in its destructor. Not safe for use from several threads at
/// once, except Hits and the accessors.
class BackendProcess {
 public:
  using Args = std::vector<std::string>;

  /// Ready when it returns. Ends the test program when the server doesn't start.
  static std::unique_ptr<BackendProcess> Start(const std::string& path,
                                               Args args = {});
  ~BackendProcess();
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  int port() const { return port_; }
  std::string target() const { return "127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return pid_; }

  /// SIGKILL, and waits until it is gone.
  void Kill();
  /// On the same port, after Kill.
  void Restart();
  /// SIGSTOP: the kernel still accepts connections, nobody answers.
  void Freeze();
  void Unfreeze();

  // Through Control, on a plain connection of its own. They end the test program
  // when the server doesn't answer.

  HitsResponse Hits(const std::string& key);
  void Reset();
  void SetGlobalFault(const GlobalFault& fault);
  void SetGlobalFault(GlobalFault::Kind kind, int code = 14);

 private:
  BackendProcess(std::string path, Args args)
      : path_(std::move(path)), args_(std::move(args)) {}
  void Spawn(const Args& args);

  const std::string path_;
  const Args args_;
  pid_t pid_ = -1;
  int port_ = 0;
  std::unique_ptr<Control::Stub> control_;
};

}  // namespace grpc_resilience::test

// The backend of the demo as a process of its own, to be killed and started
// again.
//
//   BackendProcess backend("./demo_backend");
//   backend.Start();         // the kernel chooses the port
//   backend.Kill();          // SIGKILL
//   backend.Start();         // on the same port

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "shop.grpc.pb.h"

namespace demo {

/// Throws std::runtime_error when the operating system or the backend doesn't
/// do what it is asked. Not safe for use from several threads at once.
class BackendProcess {
 public:
  explicit BackendProcess(std::string program) : program_(std::move(program)) {}
  ~BackendProcess() { Kill(); }
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  /// Returns when the backend accepts connections.
  void Start();
  /// SIGKILL. Nothing when it isn't running.
  void Kill();

  /// How many GetStock requests the backend has received, by channel.
  using RequestsSeen = std::map<std::string, std::int64_t>;
  /// From now on that share of requests fails with UNAVAILABLE. Returns what
  /// was received up to now.
  RequestsSeen SetFailureRatio(double ratio);

  pid_t pid() const { return pid_; }
  /// Valid after the first Start.
  std::string target() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const std::string program_;
  pid_t pid_ = -1;
  int port_ = 0;
  /// The backend ends when this end of its standard input is closed.
  int stdin_fd_ = -1;
  std::unique_ptr<shop::BackendControl::Stub> control_;
};

}  // namespace demo

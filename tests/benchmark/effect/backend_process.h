// The backend as a process of its own, to be killed, stopped and made to fail.
//
//   BackendProcess backend("./bench_effect_backend", 1);
//   backend.Start();                 // the kernel chooses the port
//   backend.Behave(0.3);             // 30 % of the requests fail
//   backend.Kill();
//   backend.Start();                 // on the same port

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace grpc_resilience::bench {

/// What does not work within 10 s ends the program. Not safe for use from several
/// threads at once.
class BackendProcess {
 public:
  BackendProcess(std::string program, unsigned seed)
      : program_(std::move(program)), seed_(seed) {}
  ~BackendProcess() { Kill(); }
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  /// Returns when the backend accepts connections.
  void Start();
  /// SIGKILL. Nothing when it isn't running.
  void Kill();
  /// SIGSTOP and SIGCONT.
  void Stop();
  void Continue();

  /// Requests since Start.
  struct Seen {
    std::int64_t requests = 0;
    std::int64_t late = 0;  ///< after the deadline of the first caller
    std::int64_t later_than_allowed = 0;
  };
  /// A value type.
  struct Slowness {
    double share = 0;  ///< of the answers
    std::chrono::milliseconds delay{0};
  };
  /// From now on that share of the requests fails, each answer takes that long, and
  /// some longer. Returns what was received up to now.
  Seen Behave(double failing_share, std::chrono::milliseconds delay,
              const Slowness& slowness) {
    return Behave(failing_share, delay, slowness, std::chrono::microseconds(0));
  }
  /// From now on each answer is so much work, done one after the other.
  Seen WorkFor(std::chrono::microseconds each) {
    return Behave(0, std::chrono::milliseconds(0), Slowness(), each);
  }
  Seen Behave(double failing_share,
              std::chrono::milliseconds delay = std::chrono::milliseconds(0)) {
    return Behave(failing_share, delay, Slowness());
  }

  /// Valid after the first Start.
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  Seen Behave(double failing_share, std::chrono::milliseconds delay,
              const Slowness& slowness, std::chrono::microseconds work);
  std::string ReadLine();

  const std::string program_;
  const unsigned seed_;
  pid_t pid_ = -1;
  int port_ = 0;
  int input_ = -1;   // the backend's standard input; it ends with it
  int output_ = -1;  // what the backend prints
};

}  // namespace grpc_resilience::bench

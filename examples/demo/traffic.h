// Steady traffic on one channel.
//
//   CallLog log;
//   Traffic traffic("plain", channel, 250, &log);   // 250 calls a second
//   ...
//   traffic.Stop();

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "call_log.h"
#include "shop.grpc.pb.h"

namespace demo {

/// Of each call.
constexpr std::chrono::seconds kCallDeadline(1);

/// Calls GetStock at a steady pace from a thread of its own, however long
/// earlier calls take ("open loop"), as many independent users would. Stop may
/// be called once at a time.
class Traffic {
 public:
  /// `name` is sent with each call as "demo-channel"; `log` must outlive this.
  Traffic(std::string name, const std::shared_ptr<grpc::Channel>& channel,
          int calls_per_second, CallLog* log);
  ~Traffic() { Stop(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  /// Makes no more calls and waits for those in flight.
  void Stop();

 private:
  struct Call;

  void Run(Duration interval);
  void StartCall();
  void EndCall(std::unique_ptr<Call> call, const grpc::Status& status);

  const std::string name_;
  const std::unique_ptr<shop::Inventory::Stub> stub_;
  CallLog* const log_;
  std::atomic<bool> stopping_{false};
  std::mutex mu_;
  std::condition_variable none_in_flight_;
  int in_flight_ = 0;  // guarded by mu_
  std::thread thread_;
};

}  // namespace demo

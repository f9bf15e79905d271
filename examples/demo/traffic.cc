#include "traffic.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <utility>

namespace demo {
namespace {

// The library reports on the caller's context whatever happened that the caller
// wouldn't have seen without it. Empty: nothing.
std::string Reported(const grpc::ClientContext& context, const char* key) {
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto found = trailing.find(key);
  if (found == trailing.end()) return "";
  return std::string(found->second.data(), found->second.size());
}

}  // namespace

struct Traffic::Call {
  grpc::ClientContext context;
  shop::GetStockRequest request;
  shop::GetStockResponse response;
  TimePoint start;
};

Traffic::Traffic(std::string name,
                 const std::shared_ptr<grpc::Channel>& channel,
                 int calls_per_second, CallLog* log)
    : name_(std::move(name)),
      stub_(shop::Inventory::NewStub(channel)),
      log_(log),
      thread_([this, calls_per_second] {
        Run(Duration(std::chrono::seconds(1)) / calls_per_second);
      }) {}

void Traffic::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  std::unique_lock<std::mutex> lock(mu_);
  none_in_flight_.wait(lock, [this] { return in_flight_ == 0; });
}

void Traffic::Run(Duration interval) {
  TimePoint next = std::chrono::steady_clock::now();
  while (!stopping_) {
    StartCall();
    next += interval;
    std::this_thread::sleep_until(next);
  }
}

void Traffic::StartCall() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    ++in_flight_;
  }
  auto* call = new Call;
  call->request.set_item("bicycle");
  call->context.AddMetadata("demo-channel", name_);
  call->context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  call->start = std::chrono::steady_clock::now();
  stub_->async()->GetStock(&call->context, &call->request, &call->response,
                           [this, call](const grpc::Status& status) {
                             EndCall(std::unique_ptr<Call>(call), status);
                           });
}

void Traffic::EndCall(std::unique_ptr<Call> call, const grpc::Status& status) {
  CallRecord record;
  record.start = call->start;
  record.end = std::chrono::steady_clock::now();
  record.ok = status.ok();
  const std::string attempts =
      Reported(call->context, "grpc-resilience-attempts");
  record.attempts = attempts.empty() ? 1 : std::stoi(attempts);
  record.reason = Reported(call->context, "grpc-resilience-reason");
  log_->Add(record);
  call.reset();
  std::lock_guard<std::mutex> lock(mu_);
  if (--in_flight_ == 0) none_in_flight_.notify_all();
}

}  // namespace demo

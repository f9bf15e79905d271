#include "traffic.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace demo {
namespace {

constexpr std::chrono::milliseconds kDeadline(500);

// The library reports the number of attempts whenever something happened that
// the caller wouldn't have seen without it.
int Attempts(const grpc::ClientContext& context) {
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto found = trailing.find("grpc-resilience-attempts");
  if (found == trailing.end()) return 1;
  return std::stoi(std::string(found->second.data(), found->second.size()));
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
  call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
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
  record.attempts = Attempts(call->context);
  log_->Add(record);
  call.reset();
  std::lock_guard<std::mutex> lock(mu_);
  if (--in_flight_ == 0) none_in_flight_.notify_all();
}

}  // namespace demo

#include "benchmark/effect/load.h"

#include <grpcpp/client_context.h>

#include <random>
#include <string>

#include "benchmark/effect/caller_deadline.h"
#include "benchmark/effect/keeping_up.h"

namespace grpc_resilience::bench {
namespace {

constexpr std::chrono::seconds kStopAllowance(10);

// Ours adds the number to the trailing metadata unless it was one.
int ReportedAttempts(const grpc::ClientContext& context) {
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto found = trailing.find("grpc-resilience-attempts");
  if (found == trailing.end()) return 1;
  return std::stoi(std::string(found->second.data(), found->second.size()));
}

}  // namespace

struct Load::Call {
  grpc::ClientContext context;
  Payload request;
  Payload response;
  TimePoint start;
};

Load::Load(const std::shared_ptr<grpc::Channel>& channel, const LoadPlan& plan)
    : plan_(plan), stub_(Bench::NewStub(channel)), thread_([this] { Run(); }) {}

CallRecords Load::Over() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return over_;
}

CallRecords Load::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  std::unique_lock<std::mutex> lock(mu_);
  if (!none_in_flight_.wait_for(lock, plan_.time_limit + kStopAllowance,
                                [this] { return in_flight_ == 0; })) {
    CannotKeepUp(std::to_string(in_flight_) + " calls don't end");
  }
  return over_;
}

void Load::Run() {
  std::mt19937_64 random(plan_.seed);
  std::exponential_distribution<double> pause(plan_.calls_per_second);
  TimePoint next = std::chrono::steady_clock::now();
  while (!stopping_) {
    StartCall();
    next += std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(pause(random)));
    std::this_thread::sleep_until(next);
  }
}

void Load::StartCall() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    ++in_flight_;
  }
  auto* call = new Call;
  const auto deadline = std::chrono::system_clock::now() + plan_.time_limit;
  call->request = RequestWithDeadline(deadline);
  call->context.set_deadline(deadline);
  call->start = std::chrono::steady_clock::now();
  stub_->async()->Retried(&call->context, &call->request, &call->response,
                          [this, call](const grpc::Status& status) {
                            EndCall(std::unique_ptr<Call>(call), status);
                          });
}

void Load::EndCall(std::unique_ptr<Call> call, const grpc::Status& status) {
  CallRecord record;
  record.start = call->start;
  record.end = std::chrono::steady_clock::now();
  record.ok = status.ok();
  record.attempts = ReportedAttempts(call->context);
  call.reset();
  const std::lock_guard<std::mutex> lock(mu_);
  over_.push_back(record);
  if (--in_flight_ == 0) none_in_flight_.notify_all();
}

CallRecords CallInTurn(const std::shared_ptr<grpc::Channel>& channel,
                       int count) {
  const auto stub = Bench::NewStub(channel);
  CallRecords calls;
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         LoadPlan().time_limit);
    const Payload request;
    Payload response;
    CallRecord record;
    record.start = std::chrono::steady_clock::now();
    record.ok = stub->Retried(&context, request, &response).ok();
    record.end = std::chrono::steady_clock::now();
    record.attempts = ReportedAttempts(context);
    calls.push_back(record);
  }
  return calls;
}

}  // namespace grpc_resilience::bench

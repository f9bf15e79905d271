#include "fallback/revalidator.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "fallback/sent_again.h"

namespace grpc_resilience::internal {

void Revalidator::UseChannel(const std::string& target,
                             const std::shared_ptr<grpc::Channel>& channel) {
  absl::MutexLock lock(&mu_);
  channels_[target] = channel;
}

void Revalidator::Add(const std::string& key,
                      const std::shared_ptr<const FailedCall>& call) {
  absl::MutexLock lock(&mu_);
  if (stopped_ || channels_.count(call->target) == 0 ||
      wanted_.size() >= kMaxWanted) {
    return;
  }
  wanted_.try_emplace(key, call);
  if (running_) return;
  try {
    std::thread([self = shared_from_this()] { self->Loop(); }).detach();
    running_ = true;
  } catch (const std::system_error&) {
    wanted_.clear();  // ordinary calls will do
  }
}

void Revalidator::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
  if (under_way_ != nullptr) under_way_->TryCancel();
}

void Revalidator::Loop() {
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&stopped_),
                           absl::FromChrono(settings_.interval));
      if (stopped_ || wanted_.empty()) {
        running_ = false;
        return;
      }
    }
    Round();
  }
}

std::vector<Revalidator::Wanted> Revalidator::TakeRound() {
  std::vector<Wanted> round;
  absl::MutexLock lock(&mu_);
  round.reserve(wanted_.size());
  for (const auto& [key, call] : wanted_) round.push_back({key, call});
  return round;
}

void Revalidator::Round() {
  std::set<std::string> rejecting;
  for (const Wanted& wanted : TakeRound()) {
    const FailedCall& call = *wanted.call;
    const auto stored = store_->StoredAt(wanted.key);
    const auto channel = ChannelFor(call.target);
    // Gone, new already, or nobody to ask.
    if (!stored || *stored > call.now || channel == nullptr ||
        Clock::Real().Now() - call.now > settings_.max_age) {
      Forget(wanted.key);
      continue;
    }
    if (rejecting.count(call.target) > 0) continue;
    switch (Send(call, channel)) {
      case Result::kReplaced:
        replaced_.fetch_add(1, std::memory_order_relaxed);
        Forget(wanted.key);
        break;
      case Result::kFailed:
        break;
      case Result::kRejected:
        rejecting.insert(call.target);
        break;
    }
  }
}

std::shared_ptr<grpc::Channel> Revalidator::ChannelFor(
    const std::string& target) {
  absl::MutexLock lock(&mu_);
  const auto found = channels_.find(target);
  if (stopped_ || found == channels_.end()) return nullptr;
  return found->second.lock();
}

// The interceptor of the channel hands a good response to the cache, as it does with
// any other call's.
Revalidator::Result Revalidator::Send(
    const FailedCall& call, const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          settings_.timeout));
  CopyMetadata(call, settings_.metadata_keys, &context);
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) return Result::kFailed;
    under_way_ = &context;
  }
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto rpc = stub.PrepareUnaryCall(&context, call.method,
                                         BufferOf(call.request), &queue);
  rpc->StartCall();
  rpc->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  {
    absl::MutexLock lock(&mu_);
    under_way_ = nullptr;
  }
  if (status.ok()) return Result::kReplaced;
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto reason = trailing.find("grpc-resilience-reason");
  return reason != trailing.end() && reason->second == "BREAKER_OPEN"
             ? Result::kRejected
             : Result::kFailed;
}

void Revalidator::Forget(const std::string& key) {
  absl::MutexLock lock(&mu_);
  wanted_.erase(key);
}

}  // namespace grpc_resilience::internal

#include "interceptor/recovery_thread.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "interceptor/channel_recovery.h"
#include "interceptor/recovery_worker.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A watch can't be called off, so its limit is how long a thread's end takes.
constexpr seconds kWatchLimit(1);
// Of a thread with nothing due: new channels are looked for that often.
constexpr milliseconds kLongestSleep(125);
constexpr double kJitter = 0.2;

gpr_timespec At(TimePoint when, TimePoint now) {
  return ToGprDeadline(Deadline::At(when), now);
}

}  // namespace

bool RecoveryThread::Add(std::shared_ptr<ChannelRecovery> recovery) {
  auto entry = std::make_unique<Entry>();
  entry->recovery = std::move(recovery);
  entry->since = entry->due = Clock::Real().Now();
  absl::MutexLock lock(&mu_);
  if (!running_ && !Start()) return false;
  new_.push_back(std::move(entry));
  ++all_channels_;
  ++channels_;
  return true;
}

// The new thread waits for the lock that is held here.
bool RecoveryThread::Start() {
  try {
    std::thread([this] { Run(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  running_ = true;
  return true;
}

void RecoveryThread::Run() {
  grpc::CompletionQueue queue;
  Entries entries;
  while (TakeNew(&entries)) {
    StepDue(entries, &queue);
    const TimePoint now = Clock::Real().Now();
    TimePoint due = now + kLongestSleep;
    for (const auto& entry : entries) {
      if (!entry->over) due = std::min(due, entry->due);
    }
    void* tag = nullptr;
    bool ok = false;  // says nothing: also true for a channel that is gone
    if (queue.AsyncNext(&tag, &ok, At(due, now)) ==
        grpc::CompletionQueue::GOT_EVENT) {
      static_cast<RecoveryEvent*>(tag)->OnEvent();
    }
    Forget(&entries);
  }
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) static_cast<RecoveryEvent*>(tag)->OnEvent();
}

bool RecoveryThread::TakeNew(Entries* entries) {
  absl::MutexLock lock(&mu_);
  for (auto& entry : new_) entries->push_back(std::move(entry));
  new_.clear();
  running_ = !entries->empty();
  return running_;
}

void RecoveryThread::StepDue(const Entries& entries,
                             grpc::CompletionQueue* queue) {
  const TimePoint now = Clock::Real().Now();
  for (const auto& entry : entries) {
    if (!entry->over && entry->due <= now) Step(entry.get(), now, queue);
  }
}

void RecoveryThread::Step(Entry* entry, TimePoint now,
                          grpc::CompletionQueue* queue) {
  const std::shared_ptr<grpc::Channel> channel = entry->recovery->Lock();
  const grpc_connectivity_state state =
      channel != nullptr ? channel->GetState(false) : GRPC_CHANNEL_SHUTDOWN;
  // Without the channel its breakers must not be asked: they may have outlived
  // their clock.
  if (state == GRPC_CHANNEL_SHUTDOWN || !entry->recovery->AnyOpen()) {
    entry->over = true;
    return;
  }
  const bool ready = state == GRPC_CHANNEL_READY;
  if (ready) Probe(*entry, !entry->was_ready, channel, queue);
  entry->was_ready = ready;
  if (state == GRPC_CHANNEL_IDLE) channel->GetState(true);
  if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    grpc::experimental::ChannelResetConnectionBackoff(channel.get());
  }
  if (!entry->watching) {
    entry->watching = true;
    channel->NotifyOnStateChange(state, At(now + kWatchLimit, now), queue,
                                 static_cast<RecoveryEvent*>(entry));
  }
  const double jitter = absl::Uniform(random_, 1 - kJitter, 1 + kJitter);
  entry->due =
      now + std::chrono::duration_cast<Duration>(
                ReconnectPeriod(now - entry->since, all_channels_) * jitter);
}

void RecoveryThread::Probe(const Entry& entry, bool just_ready,
                           const std::shared_ptr<grpc::Channel>& channel,
                           grpc::CompletionQueue* queue) {
  for (const auto& watch : entry.recovery->Open()) {
    const bool background = watch->background_probe.has_value();
    if (watch->early_probe && (just_ready || background)) {
      watch->breaker->MakeProbeReady();
    }
    if (background) RecoveryProbe::Start(watch, channel, queue);
  }
}

void RecoveryThread::Forget(Entries* entries) {
  const auto first = std::stable_partition(
      entries->begin(), entries->end(),
      [](const auto& entry) { return !entry->over || entry->watching; });
  const auto forgotten = static_cast<std::size_t>(entries->end() - first);
  all_channels_ -= forgotten;
  channels_ -= forgotten;
  entries->erase(first, entries->end());
}

}  // namespace grpc_resilience::internal

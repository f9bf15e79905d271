// One delivery of a queued request, and what its end means.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/queue_store.h"

namespace grpc_resilience::internal {

enum class DeliveryResult { kDone, kRejected, kAgain, kNever };

/// call_queue.h's table.
DeliveryResult JudgeDelivery(grpc::StatusCode code, bool rejected_by_breaker);

/// Not safe for use from several threads at once, but for Cancel. To be destroyed
/// on a thread that isn't gRPC's: it may hold the last reference to its channel.
class Delivery {
 public:
  Delivery(QueueEntry entry, std::shared_ptr<grpc::Channel> channel)
      : entry_(std::move(entry)), channel_(std::move(channel)) {}
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  /// `done` runs on a thread of gRPC's.
  void Start(WallTime deadline, std::function<void()> done);
  void Cancel() { context_.TryCancel(); }

  const QueueEntry& entry() const { return entry_; }
  // After `done`:
  DeliveryResult result() const;
  /// "UNAVAILABLE: overloaded".
  std::string error() const;

 private:
  const QueueEntry entry_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
};

}  // namespace grpc_resilience::internal

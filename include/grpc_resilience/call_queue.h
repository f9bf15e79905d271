// A fallback that keeps the request on disk and delivers it later: at least once, with
// the same idempotency key.
//
//   CallQueue queue(std::make_shared<SqliteQueueStore>("/var/lib/shop/pay.queue"));
//   MethodPolicy& charge = config.Method("/pay.Payments/Charge");
//   charge.retry.idempotency_key_header = "idempotency-key";
//   charge.fallbacks = {queue.AnswerWith(receipt_for_later)};
//   charge.fallback_rules.reserve = std::chrono::milliseconds(100);
//   …
//   queue.DeliverThrough("payments:443", channel);   // protected: breaker, budget
//
// | a delivery ended with                                   | then                  |
// |---------------------------------------------------------|-----------------------|
// | OK                                                      | done                  |
// | rejected by the breaker                                 | again soon, not counted |
// | CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, | again after a backoff |
// |   ABORTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED |                   |
// | any other code                                          | dead letter           |
// | the `max_deliveries`-th failure; `time_to_live` over    | dead letter           |
//
// What is being delivered is leased, so that no other process delivers it as well. A
// queue that is destroyed gives its leases back. A killed process can't: what it was
// delivering, at most `max_in_flight` entries, and what comes after them under their
// ordering keys waits out the lease, `delivery_timeout` + 5 s; everything else goes on
// at once. A lease isn't taken over sooner, though its owner may be known to be dead:
// what that sent may still be under way in the server, up to the deadline that the
// server was told. Leases go by the machine's clock; one that is set forward by more
// than what is left of a lease ends it.

#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpc_resilience/backoff.h"
#include "grpc_resilience/fallback.h"
#include "grpc_resilience/queue_store.h"

namespace grpc_resilience {

namespace internal {
class QueueWorker;
}  // namespace internal

/// A value type. Validated by Resilience::Create, with the fallbacks.
struct CallQueueOptions {
  /// An entry that is older becomes a dead letter. Range: > 0. Default: 24 h.
  Duration time_to_live = std::chrono::hours(24);
  /// Failed deliveries after which an entry becomes a dead letter. Range: ≥ 1.
  /// Default: 50.
  int max_deliveries = 50;
  /// Waits of an entry after its first, second, … failed delivery.
  /// Default: 1 s, ×2, up to 5 min, jitter of ±20 %.
  BackoffPolicy backoff{std::chrono::seconds(1), std::chrono::minutes(5), 2.0,
                        Jitter::kRatio, 0.2};
  /// Deadline of a delivery. Its lease lasts 5 s longer, also when the process is
  /// killed meanwhile (see the top). Range: > 0. Default: 10 s.
  Duration delivery_timeout = std::chrono::seconds(10);
  /// How often the store is looked into without a cause. Range: > 0. Default: 1 s.
  Duration poll_interval = std::chrono::seconds(1);
  /// Deliveries under way at once. Range: ≥ 1. Default: 4.
  int max_in_flight = 4;
  /// Entries that wait; beyond, further calls aren't queued. Range: ≥ 1.
  /// Default: 100000.
  std::int64_t max_entries = 100000;
  /// Of the caller's metadata, kept on disk and sent with the delivery, beside the
  /// idempotency key. Default: none. Credentials are the channel's.
  std::vector<std::string> metadata_keys;
  /// Calls of one target with the same key are delivered in the order in which they
  /// were queued, one at a time. May see the request; runs on the queue's thread.
  /// Default empty: in no order.
  std::function<std::string(const FailedCall&)> ordering_key;
};

/// Its thread, the only one that touches the store, is started by the first call to be
/// queued or DeliverThrough, whichever comes first. This type is safe to use from
/// several threads at once.
class CallQueue {
 public:
  explicit CallQueue(std::shared_ptr<QueueStore> store,
                     CallQueueOptions options = {});
  /// Cancels deliveries under way and waits for them; what is queued stays so. Not
  /// from a thread of gRPC's.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Kind "queue": answers with `response` once the request is safely stored, marked
  /// "queue; id=42"; declines, saying why, when it can't be. Only for methods whose
  /// policy says by word or key header that they are idempotent. Takes time (a
  /// write to disk): needs FallbackRules::reserve to help at a deadline.
  std::shared_ptr<FallbackSource> AnswerWith(
      const google::protobuf::MessageLite& response);

  /// From now on entries of `target` (as named in CreateChannel) are delivered through
  /// that protected channel, held weakly. Deliveries have no fallback.
  void DeliverThrough(const std::string& target,
                      const std::shared_ptr<grpc::Channel>& channel);

  /// Since the start. A value type.
  struct Stats {
    std::int64_t queued = 0;
    std::int64_t refused = 0;  ///< couldn't be stored
    std::int64_t delivered = 0;
    std::int64_t failed = 0;  ///< deliveries
    std::int64_t buried = 0;  ///< by a status or max_deliveries
    std::string last_store_error;
  };
  Stats stats() const;

 private:
  const std::shared_ptr<internal::QueueWorker> worker_;
};

}  // namespace grpc_resilience

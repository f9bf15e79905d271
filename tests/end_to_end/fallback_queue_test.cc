// Requests that are queued while the backend fails, and delivered later.

#include <atomic>

#include "absl/synchronization/notification.h"
#include "grpc_resilience/call_queue.h"
#include "grpc_resilience/sqlite_queue_store.h"
#include "queue/queue_file.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;
using testing::StartsWith;

constexpr char kKeyHeader[] = "idempotency-key";

EchoResponse Later() {
  EchoResponse response;
  response.add_items("we'll see to it");
  return response;
}

/// Quick enough for a test.
CallQueueOptions QuickOptions() {
  CallQueueOptions options;
  options.backoff.initial_backoff = milliseconds(10);
  options.backoff.max_backoff = milliseconds(20);
  options.poll_interval = milliseconds(20);
  return options;
}

/// Puts nothing before it is told to go on.
class HangingStore : public SqliteQueueStore {
 public:
  explicit HangingStore(const std::string& path) : SqliteQueueStore(path) {}
  ~HangingStore() override { GoOn(); }

  absl::StatusOr<Ids> Put(const std::vector<QueuedRequest>& requests) override {
    may_go_on_.WaitForNotification();
    return SqliteQueueStore::Put(requests);
  }
  absl::Status Withdraw(const Ids& ids) override {
    absl::Status status = SqliteQueueStore::Withdraw(ids);
    withdrawn_ += static_cast<int>(ids.size());
    return status;
  }
  void GoOn() {
    if (!may_go_on_.HasBeenNotified()) may_go_on_.Notify();
  }
  int withdrawn() const { return withdrawn_; }

 private:
  absl::Notification may_go_on_;
  std::atomic<int> withdrawn_{0};
};

class FallbackQueueTest : public StyleTest {
 protected:
  ~FallbackQueueTest() override { backend().SetGlobalFault(GlobalFault::NONE); }

  void Use(CallQueueOptions options, const std::string& path) {
    Use(std::move(options), std::make_shared<SqliteQueueStore>(path));
  }
  void Use(CallQueueOptions options, std::shared_ptr<SqliteQueueStore> store,
           Duration timeout = seconds(20)) {
    store_ = std::move(store);
    queue_ = std::make_unique<CallQueue>(store_, std::move(options));
    Config config = RetryConfig(1);
    MethodPolicy& method = config.DefaultMethod();
    method.retry.idempotency_key_header = kKeyHeader;
    method.fallbacks = {queue_->AnswerWith(Later())};
    method.fallback_rules.timeout = timeout;
    channel_ = NewChannel(std::move(config));
  }
  void Use(CallQueueOptions options = QuickOptions()) {
    Use(std::move(options), file_.path());
  }
  void Deliver() { queue_->DeliverThrough(backend().target(), channel_); }
  CallResult Call(const EchoRequest& request, EchoResponse* response) {
    return StyleTest::Call(channel_, EchoMethod::kUnary, request, response);
  }

  QueueFile file_;
  std::shared_ptr<SqliteQueueStore> store_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<CallQueue> queue_;
};

TEST_P(FallbackQueueTest, QueuedAndDeliveredWithTheSameKey) {
  Use();
  Deliver();
  backend().SetGlobalFault(GlobalFault::FAIL);
  const EchoRequest request = NewRequest();
  EchoResponse response;
  const CallResult result = Call(request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(response.items(), ElementsAre("we'll see to it"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"),
              ElementsAre(StartsWith("queue; id=")));
  EXPECT_EQ(queue_->stats().queued, 1);

  backend().SetGlobalFault(GlobalFault::NONE);
  WaitUntil([&] { return queue_->stats().delivered == 1; }, "delivered");
  const HitsResponse hits = Hits(request);
  ASSERT_GE(hits.hits_size(), 2);
  const auto key = Seen(hits.hits(0), kKeyHeader);
  EXPECT_THAT(key, ElementsAre(SizeIs(36)));
  for (const Observation& hit : hits.hits()) {
    EXPECT_EQ(Seen(hit, kKeyHeader), key);
    EXPECT_EQ(hit.request_hash(), hits.hits(0).request_hash());
    EXPECT_THAT(Seen(hit, kWithoutFallbacksKey), IsEmpty());
  }
  EXPECT_EQ(hits.hits(hits.hits_size() - 1).code(), 0);
  EXPECT_EQ(store_->Count()->waiting, 0);
}

// Never "queued" when it isn't; calls go on.
TEST_P(FallbackQueueTest, AStoreInTrouble) {
  Use(QuickOptions(), (file_.folder() / "none" / "q").string());
  const EchoRequest failing = FailingRequest(-1);
  EchoResponse response;
  response.add_items("old");
  const CallResult result = Call(failing, &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(response.items(), ElementsAre("old"));
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-declined"),
              ElementsAre("queue: not queued: the queue file can't be opened"));
  EXPECT_EQ(queue_->stats().last_store_error, "the queue file can't be opened");
  EXPECT_TRUE(Call(NewRequest(), &response).status.ok());
  // And once the trouble is over:
  std::filesystem::create_directory(file_.folder() / "none");
  EXPECT_TRUE(Call(FailingRequest(-1), &response).status.ok());
}

// A store that hangs costs a caller no more than the time of a fallback, and what he
// wasn't told of isn't queued.
TEST_P(FallbackQueueTest, AStoreThatHangs) {
  const auto store = std::make_shared<HangingStore>(file_.path());
  Use(QuickOptions(), store, milliseconds(100));
  EchoResponse response;
  const CallResult result = Call(FailingRequest(-1), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.status.error_message(), "hit 1 failed");
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback"), IsEmpty());
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-declined"),
              ElementsAre("queue: took too long"));
  EXPECT_LT(Milliseconds(result.elapsed), 200 * TimeFactor());
  EXPECT_EQ(store_->Count()->waiting, 0);
  store->GoOn();
  WaitUntil([&] { return store->withdrawn() == 1; }, "it is taken back");
  EXPECT_EQ(store_->Count()->waiting, 0);
  WaitUntil([&] { return queue_->stats().queued == 0; }, "nothing is queued");
}

TEST_P(FallbackQueueTest, AFullQueue) {
  CallQueueOptions options = QuickOptions();
  options.max_entries = 1;
  Use(options);
  EchoResponse response;
  EXPECT_TRUE(Call(FailingRequest(-1), &response).status.ok());
  const CallResult result = Call(FailingRequest(-1), &response);
  EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.Trailing("grpc-resilience-fallback-declined"),
              ElementsAre("queue: not queued: the queue is full"));
}

INSTANTIATE_TEST_SUITE_P(, FallbackQueueTest, AllCallStyles(), CallStyleName);

class QueueDeliveryTest : public FallbackQueueTest {};

TEST_P(QueueDeliveryTest, InTheOrderOfAKey) {
  CallQueueOptions options = QuickOptions();
  options.max_in_flight = 10;
  options.ordering_key = [](const FailedCall& call) {
    EchoRequest request;
    return request.ParseFromString(call.request) ? request.data() : "";
  };
  Use(options);
  backend().SetGlobalFault(GlobalFault::FAIL);
  std::vector<EchoRequest> requests;
  for (int i = 0; i < 6; ++i) {
    EchoRequest request = NewRequest();
    request.set_data(i % 2 == 0 ? "even" : "odd");
    // Without order the later ones would overtake.
    request.mutable_script()->set_delay_ms(60 - 10 * i);
    EchoResponse response;
    ASSERT_TRUE(Call(request, &response).status.ok());
    requests.push_back(request);
  }
  backend().SetGlobalFault(GlobalFault::NONE);
  Deliver();
  WaitUntil([&] { return queue_->stats().delivered == 6; }, "delivered");
  for (int i = 0; i + 2 < 6; ++i) {
    const auto earlier = Hits(requests[i]).hits();
    const auto later = Hits(requests[i + 2]).hits();
    // Not by the time at which the earlier one ended: its answer may be here before
    // the server has noted that.
    EXPECT_GE(later.rbegin()->arrived_ns() - earlier.rbegin()->arrived_ns(),
              1e6 * (requests[i].script().delay_ms() - 1));
  }
}

// What can't succeed, or has failed too often, becomes a dead letter, and may be
// tried again by an operator.
TEST_P(QueueDeliveryTest, DeadLetters) {
  CallQueueOptions options = QuickOptions();
  options.max_deliveries = 3;
  Use(options);
  backend().SetGlobalFault(GlobalFault::FAIL);
  const EchoRequest wrong = FailingRequest(-1, StatusCode::INVALID_ARGUMENT);
  const EchoRequest failing = FailingRequest(-1);
  EchoResponse response;
  ASSERT_TRUE(Call(wrong, &response).status.ok());
  ASSERT_TRUE(Call(failing, &response).status.ok());
  backend().SetGlobalFault(GlobalFault::NONE);
  Deliver();
  WaitUntil([&] { return queue_->stats().buried == 2; }, "two dead letters");
  EXPECT_EQ(Hits(wrong).count(), 1 + 1);    // the call and one delivery
  EXPECT_EQ(Hits(failing).count(), 1 + 3);  // the call and three
  const auto dead = store_->List({});
  ASSERT_THAT(*dead, SizeIs(2));
  EXPECT_THAT((*dead)[0].last_error, StartsWith("INVALID_ARGUMENT: hit "));
  EXPECT_THAT((*dead)[1].last_error, StartsWith("UNAVAILABLE: hit "));
  EXPECT_EQ((*dead)[1].deliveries, 3);
  EXPECT_EQ(store_->Count()->waiting, 0);
}

// While the breaker is open nothing is sent, and no delivery counts as failed.
TEST_P(QueueDeliveryTest, ThroughTheBreaker) {
  CallQueueOptions options = QuickOptions();
  options.max_deliveries = 2;
  store_ = std::make_shared<SqliteQueueStore>(file_.path());
  queue_ = std::make_unique<CallQueue>(store_, options);
  Config config = RetryConfig(1);
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  breaker.open_duration = std::chrono::minutes(1);
  MethodPolicy& method = config.DefaultMethod();
  method.retry.idempotency = Idempotency::kIdempotent;
  method.fallbacks = {queue_->AnswerWith(Later())};
  method.fallback_rules.timeout = seconds(20);
  const auto resilience = MakeResilience(std::move(config));
  channel_ = NewChannel(resilience);
  const EchoRequest request = FailingRequest(1);
  EchoResponse response;
  ASSERT_TRUE(Call(request, &response).status.ok());
  Deliver();
  std::this_thread::sleep_for(milliseconds(600));  // two pauses
  EXPECT_EQ(Hits(request).count(), 1);
  EXPECT_EQ(queue_->stats().failed, 0);
  ASSERT_TRUE(resilience->ResetBreaker(backend().target()).ok());
  WaitUntil([&] { return queue_->stats().delivered == 1; }, "delivered");
  EXPECT_EQ(Hits(request).count(), 2);
}

/// Takes its time for a lease.
class SlowLeaseStore : public SqliteQueueStore {
 public:
  SlowLeaseStore(const std::string& path, milliseconds time)
      : SqliteQueueStore(path), time_(time) {}
  absl::StatusOr<std::vector<QueueEntry>> Lease(std::string_view target,
                                                std::string_view owner,
                                                WallTime now, WallTime until,
                                                int most) override {
    std::this_thread::sleep_for(time_);
    return SqliteQueueStore::Lease(target, owner, now, until, most);
  }

 private:
  const milliseconds time_;
};

// The server hears of what is left of the lease, so that it never outlasts that.
TEST_P(QueueDeliveryTest, DeadlineIsTheLeases) {
  CallQueueOptions options = QuickOptions();
  options.delivery_timeout = seconds(10);
  Use(options, std::make_shared<SlowLeaseStore>(file_.path(), seconds(1)));
  const EchoRequest request = FailingRequest(1);
  EchoResponse response;
  ASSERT_TRUE(Call(request, &response).status.ok());
  Deliver();
  WaitUntil([&] { return queue_->stats().delivered == 1; }, "delivered");
  const HitsResponse hits = Hits(request);
  ASSERT_EQ(hits.count(), 2);
  // grpc-timeout is rounded up by as much as 1 %.
  EXPECT_LE(hits.hits(1).time_left_ms(), 9000 * 1.01);
  EXPECT_GT(hits.hits(1).time_left_ms(), 5000);
}

// A queue that ends while it delivers gives its leases back.
TEST_P(QueueDeliveryTest, EndsWhileItDelivers) {
  Use();
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_hang_from(2);
  EchoResponse response;
  ASSERT_TRUE(Call(request, &response).status.ok());
  Deliver();
  WaitUntil([&] { return Hits(request).running() == 1; }, "under way");
  queue_.reset();
  const auto left = store_->List({});
  ASSERT_THAT(*left, SizeIs(1));
  EXPECT_EQ((*left)[0].owner, "");
  EXPECT_EQ((*left)[0].deliveries, 0);
}

INSTANTIATE_TEST_SUITE_P(, QueueDeliveryTest, testing::Values(CallStyle::kSync),
                         CallStyleName);

}  // namespace
}  // namespace grpc_resilience::test

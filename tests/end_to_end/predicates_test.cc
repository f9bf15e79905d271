// User code that the library calls: predicates and observers, good and bad.

#include <stdexcept>

#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

class PredicatesTest : public WayTest {
 protected:
  Config WithPredicate(OutcomePredicate predicate) {
    Config config = RetryConfig();
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.mode = BreakerMode::kEnabled;
    breaker.failure_rate_threshold = 1.0;
    breaker.window_calls = 10;
    breaker.minimum_calls = 10;
    breaker.outcome_predicate = std::move(predicate);
    return config;
  }
};

TEST_P(PredicatesTest, PredicateDecidesWhatIsAFailure) {
  const auto resilience = MakeResilience(
      WithPredicate([](const AttemptResult& result, Outcome by_default) {
        return result.code == StatusCode::NOT_FOUND ? Outcome::kFailure
                                                    : by_default;
      }));
  const auto channel = NewChannel(resilience);
  Call(channel, EchoMethod::kIdempotent, NewRequest());
  Call(channel, EchoMethod::kIdempotent,
       FailingRequest(-1, StatusCode::NOT_FOUND));
  const auto snapshot = resilience->FindBreaker(backend().target());
  EXPECT_EQ(snapshot->window_calls, 2);
  EXPECT_EQ(snapshot->window_failures, 1);
}

// An answer that says OK and means the opposite.
TEST_P(PredicatesTest, PredicateSeesTheResponse) {
  const auto resilience = MakeResilience(
      WithPredicate([](const AttemptResult& result, Outcome by_default) {
        const auto* response = dynamic_cast<const EchoResponse*>(
            static_cast<const google::protobuf::MessageLite*>(result.response));
        return response != nullptr && response->items(0) == "degraded"
                   ? Outcome::kFailure
                   : by_default;
      }));
  const auto channel = NewChannel(resilience);
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->add_items("degraded");
  EXPECT_TRUE(Call(channel, EchoMethod::kIdempotent, request).status.ok());
  EXPECT_TRUE(Call(channel, EchoMethod::kIdempotent, NewRequest()).status.ok());
  const auto snapshot = resilience->FindBreaker(backend().target());
  EXPECT_EQ(snapshot->window_calls, 3);
  // Generic calls have bytes: nothing to look into.
  EXPECT_EQ(snapshot->window_failures, IsGeneric(style()) ? 1 : 2);
}

// The default verdict stays, and the call goes on.
TEST_P(PredicatesTest, PredicateThatThrows) {
  const auto resilience = MakeResilience(
      WithPredicate([](const AttemptResult&, Outcome) -> Outcome {
        throw std::runtime_error("from a predicate");
      }));
  const EchoRequest request = FailingRequest(2);
  EXPECT_TRUE(Call(NewChannel(resilience), EchoMethod::kIdempotent, request)
                  .status.ok());
  EXPECT_EQ(Hits(request).count(), 3);
  const auto snapshot = resilience->FindBreaker(backend().target());
  EXPECT_EQ(snapshot->window_calls, 3);
  EXPECT_EQ(snapshot->window_failures, 2);
}

class ThrowingObserver : public CallObserver {
 public:
  void OnAttemptEnd(const AttemptEvent&) override { Throw(); }
  void OnCallEnd(const CallEvent&) override { Throw(); }
  void OnTransition(const TransitionEvent&) override { Throw(); }
  void OnNotice(const NoticeEvent&) override { Throw(); }

  std::atomic<int> thrown{0};

 private:
  void Throw() {
    ++thrown;
    throw std::runtime_error("from an observer");
  }
};

// An observer that throws disturbs neither the call nor the other observers.
TEST_P(PredicatesTest, ObserverThatThrows) {
  const auto resilience = MakeResilience(RetryConfig());
  const auto bad = std::make_shared<ThrowingObserver>();
  const auto good = std::make_shared<EventLog>();
  resilience->AddObserver(bad);
  resilience->AddObserver(good);
  const EchoRequest request = FailingRequest(2);
  EXPECT_TRUE(Call(NewChannel(resilience), EchoMethod::kIdempotent, request)
                  .status.ok());
  EXPECT_EQ(bad->thrown, 4);  // three attempts and the call
  EXPECT_EQ(good->attempts().size(), 3u);
  EXPECT_EQ(good->calls().size(), 1u);
  EXPECT_EQ(Hits(request).count(), 3);
}

// D16. An observer of transitions may ask the breaker, reset it, and make calls.
class CallingObserver : public CallObserver {
 public:
  void OnTransition(const TransitionEvent& event) override {
    if (event.to != State::kOpen) return;
    const auto channel = weak_channel.lock();
    const auto resilience = weak_resilience.lock();
    if (channel == nullptr || resilience == nullptr) return;
    EXPECT_TRUE(resilience->FindBreaker(event.key.target).has_value());
    EXPECT_TRUE(resilience->ResetBreaker(event.key.target).ok());
    grpc::ClientContext context;
    EchoRequest request;
    request.set_key("from the observer");
    EchoResponse response;
    EXPECT_TRUE(
        Echo::NewStub(channel)->Unary(&context, request, &response).ok());
    done = true;
  }

  std::weak_ptr<grpc::Channel> weak_channel;
  std::weak_ptr<Resilience> weak_resilience;
  std::atomic<bool> done{false};
};

TEST_P(PredicatesTest, ObserverThatUsesTheLibrary) {
  Config config = RetryConfig(1);
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.mode = BreakerMode::kEnabled;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 1;
  breaker.minimum_calls = 1;
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const auto observer = std::make_shared<CallingObserver>();
  observer->weak_channel = channel;
  observer->weak_resilience = resilience;
  resilience->AddObserver(observer);
  Call(channel, EchoMethod::kUnary, FailingRequest(-1));
  WaitUntil([&] { return observer->done.load(); }, "the observer is done",
            seconds(1));
}

INSTANTIATE_TEST_SUITE_P(, PredicatesTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

// After an outage: how soon calls get through again, and what the library does until
// then.

#include "interceptor/recovery_worker.h"
#include "support/end_to_end_test.h"
#include "support/event_log.h"

namespace grpc_resilience::test {
namespace {

using internal::RecoveryWorker;

class RecoveryTest : public StyleTest {
 protected:
  // Breaker on, one attempt a call, everything else as it comes.
  static Config OneAttempt() {
    Config config;
    config.DefaultMethod().retry.max_attempts = 1;
    return config;
  }
  std::shared_ptr<grpc::Channel> ChannelToOwn(
      const std::shared_ptr<Resilience>& resilience) const {
    grpc::ChannelArguments args;
    args.SetInt("test.own_connection", OwnConnection());
    return CreateChannel(resilience, own_->target(),
                         grpc::InsecureChannelCredentials(), args);
  }
  // Calls until one succeeds; how long that took.
  double TimeToSuccess(const std::shared_ptr<grpc::Channel>& channel,
                       milliseconds pause = milliseconds(5)) {
    const auto start = std::chrono::steady_clock::now();
    while (!Call(channel, EchoMethod::kUnary, NewRequest()).status.ok()) {
      std::this_thread::sleep_for(pause);
    }
    return Milliseconds(std::chrono::steady_clock::now() - start);
  }
  // Calls for that long, all of which fail; how many of them.
  int FailFor(const std::shared_ptr<grpc::Channel>& channel,
              milliseconds time) {
    int calls = 0;
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      EXPECT_FALSE(Call(channel, EchoMethod::kUnary, NewRequest()).status.ok());
      ++calls;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return calls;
  }
  State StateOf(const Resilience& resilience) const {
    return resilience.FindBreaker(own_->target())->state;
  }
  // Channels with equal arguments would share a connection, and its backoff.
  static int OwnConnection() {
    static int number = 0;
    return ++number;
  }

  std::unique_ptr<BackendProcess> own_ = BackendProcess::Start(BackendPath());
};

// Left alone, gRPC would wait for a second and more before it connects again.
TEST_P(RecoveryTest, IsNoticedSoonAfterTheServerIsBack) {
  const auto resilience = MakeResilience(OneAttempt());
  const auto channel = ChannelToOwn(resilience);
  TimeToSuccess(channel);
  own_->Kill();
  FailFor(channel, milliseconds(1500));
  EXPECT_NE(StateOf(*resilience), State::kClosed);
  own_->Restart();
  EXPECT_LT(TimeToSuccess(channel), 250 * TimeFactor());
}

// While the target is down its breaker lets next to nothing through.
TEST_P(RecoveryTest, NoProbesWhileThereIsNoConnection) {
  const auto resilience = MakeResilience(OneAttempt());
  const auto log = std::make_shared<EventLog>();
  resilience->AddObserver(log);
  const auto channel = ChannelToOwn(resilience);
  TimeToSuccess(channel);
  own_->Kill();
  const int calls = FailFor(channel, milliseconds(1000));
  int sent = 0;
  for (const auto& call : log->calls()) sent += call.attempts;
  EXPECT_GT(calls, 100);
  // Those that opened it, and what was under way.
  EXPECT_LE(sent, 1 + 16 + 3);
  own_->Restart();
  TimeToSuccess(channel);
}

// Nothing runs once every breaker is closed.
TEST_P(RecoveryTest, NothingIsWatchedAfterwards) {
  const auto resilience = MakeResilience(OneAttempt());
  const auto channel = ChannelToOwn(resilience);
  TimeToSuccess(channel);
  own_->Kill();
  FailFor(channel, milliseconds(300));
  EXPECT_GE(RecoveryWorker::OfProcess().channels(), 1u);
  own_->Restart();
  WaitUntil(
      [&] {
        TimeToSuccess(channel);
        return StateOf(*resilience) == State::kClosed;
      },
      "the breaker closes");
  WaitUntil([] { return RecoveryWorker::OfProcess().channels() == 0; },
            "nothing is watched");
}

// The worker keeps no channel alive.
TEST_P(RecoveryTest, AChannelMayGoWhileItIsWatched) {
  const auto resilience = MakeResilience(OneAttempt());
  auto channel = ChannelToOwn(resilience);
  own_->Kill();
  FailFor(channel, milliseconds(300));
  EXPECT_GE(RecoveryWorker::OfProcess().channels(), 1u);
  const std::weak_ptr<grpc::Channel> gone = channel;
  channel = nullptr;
  WaitUntil([&] { return gone.expired(); }, "the channel is gone");
  WaitUntil([] { return RecoveryWorker::OfProcess().channels() == 0; },
            "nothing is watched");
}

// Who sets a time of their own gets exactly that, connection or not.
TEST_P(RecoveryTest, OwnOpenDurationIsKept) {
  Config config = OneAttempt();
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.failure_rate_threshold = 1.0;
  breaker.window_calls = 2;
  breaker.minimum_calls = 2;
  breaker.half_open_calls = 1;
  breaker.open_duration = milliseconds(700);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = ChannelToOwn(resilience);
  own_->Kill();
  const auto start = std::chrono::steady_clock::now();
  FailFor(channel, milliseconds(50));
  own_->Restart();
  TimeToSuccess(channel);
  const double passed = Milliseconds(std::chrono::steady_clock::now() - start);
  EXPECT_GE(passed, 700);
  EXPECT_LT(passed, 700 + 300 * TimeFactor());
}

// A frozen server: the connection stays, nobody answers.
TEST_P(RecoveryTest, AfterAFreeze) {
  Config config = OneAttempt();
  config.DefaultMethod().retry.per_attempt_timeout = milliseconds(60);
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = ChannelToOwn(resilience);
  TimeToSuccess(channel);
  own_->Freeze();
  WaitUntil(
      [&] {
        EXPECT_FALSE(
            Call(channel, EchoMethod::kUnary, NewRequest()).status.ok());
        return StateOf(*resilience) == State::kOpen;
      },
      "the breaker opens");
  FailFor(channel, milliseconds(500));
  own_->Unfreeze();
  EXPECT_LT(TimeToSuccess(channel), 1500 * TimeFactor());
}

// With a probe of the library's own no caller pays for finding out.
TEST_P(RecoveryTest, BackgroundProbeClosesTheBreaker) {
  Config config = OneAttempt();
  config.DefaultTarget().breaker.recovery.background_probe = BackgroundProbe();
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = ChannelToOwn(resilience);
  TimeToSuccess(channel);
  own_->Kill();
  FailFor(channel, milliseconds(500));
  own_->Restart();
  // Nobody calls.
  WaitUntil([&] { return StateOf(*resilience) == State::kClosed; },
            "the breaker closes");
  EXPECT_LT(TimeToSuccess(channel), 50 * TimeFactor());
}

INSTANTIATE_TEST_SUITE_P(, RecoveryTest, AllCallStyles(), CallStyleName);

class InProcessRecoveryTest : public EndToEndTest {};

// gRPC can't watch an in-process channel: the breaker's own time decides.
TEST_F(InProcessRecoveryTest, InProcessChannelsAreLeftAlone) {
  struct Failing : Echo::Service {
    grpc::Status Unary(grpc::ServerContext*, const EchoRequest*,
                       EchoResponse*) override {
      return healthy ? grpc::Status::OK
                     : grpc::Status(grpc::StatusCode::UNAVAILABLE, "");
    }
    std::atomic<bool> healthy{false};
  } service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  Config config;
  config.DefaultMethod().retry.max_attempts = 1;
  const auto resilience = MakeResilience(std::move(config));
  {
    const auto channel =
        CreateInProcessChannel(resilience, server.get(), "inside");
    const auto stub = Echo::NewStub(channel);
    const auto call = [&] {
      grpc::ClientContext context;
      EchoResponse response;
      return stub->Unary(&context, EchoRequest(), &response);
    };
    for (int i = 0; i < 30; ++i) EXPECT_FALSE(call().ok());
    EXPECT_NE(resilience->FindBreaker("inside")->state, State::kClosed);
    EXPECT_EQ(RecoveryWorker::OfProcess().channels(), 0u);
    service.healthy = true;
    WaitUntil([&] { return call().ok(); }, "the breaker's time is over");
  }
  server->Shutdown();
}

}  // namespace
}  // namespace grpc_resilience::test

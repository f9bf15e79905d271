// Threads, timers, shutdown, exit and fork.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "interceptor/timer_thread.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

constexpr char kTargetVariable[] = "GRPC_RESILIENCE_TEST_TARGET";

std::string ThreadName(const std::filesystem::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name;
}

// Threads in all, and those that aren't gRPC's, which gives its own a name.
struct Threads {
  int all = 0;
  int not_grpcs = 0;
};

Threads CountThreads() {
  const std::string own = ThreadName("/proc/self");
  Threads threads;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++threads.all;
    threads.not_grpcs += ThreadName(task.path()) == own;
  }
  return threads;
}

std::size_t PendingTimers() {
  return internal::TimerThread::OfProcess()->pending();
}

class LifecycleTest : public StyleTest {};

// A28. Calls that wait hold no threads.
TEST_F(EndToEndTest, ThousandCallsInBackoffNeedNoThreads) {
  Config config = RetryConfig(2);
  SetBackoff(&config.DefaultMethod().retry, milliseconds(1500));
  const auto resilience = MakeResilience(std::move(config));
  const auto channel = NewChannel(resilience);
  const auto stub = Echo::NewStub(channel);
  grpc::CompletionQueue cq;
  struct Parts {
    grpc::ClientContext context;
    EchoResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<EchoResponse>> reader;
  };
  const auto run = [&](int count, const EchoRequest& request,
                       const std::function<void()>& in_backoff) {
    std::vector<Parts> calls(count);
    for (Parts& call : calls) {
      call.reader = stub->AsyncIdempotent(&call.context, request, &cq);
      call.reader->Finish(&call.response, &call.status, &call);
    }
    std::thread waiter([&] {
      for (int i = 0; i < count; ++i) {
        void* tag = nullptr;
        bool ok = false;
        ASSERT_TRUE(cq.Next(&tag, &ok));
        EXPECT_TRUE(static_cast<Parts*>(tag)->status.ok());
      }
    });
    WaitUntil(
        [&] { return PendingTimers() >= static_cast<std::size_t>(count); },
        "all calls wait");
    in_backoff();
    waiter.join();
  };
  EchoRequest request = FailingRequest(1);
  request.mutable_script()->set_by_attempt_header(true);
  Threads before;
  run(1, request, [&] { before = CountThreads(); });  // starts what is lazy
  Threads during;
  run(1000, request, [&] { during = CountThreads(); });
  EXPECT_EQ(during.not_grpcs, before.not_grpcs);
  EXPECT_LE(during.all, before.all + 20);
  EXPECT_EQ(PendingTimers(), 0u);
  cq.Shutdown();
}

// A28. A finished call leaves no timer behind, whatever its deadline.
TEST_P(LifecycleTest, FinishedCallsLeaveNoTimers) {
  const auto channel = NewChannel(RetryConfig());
  for (int i = 0; i < 200; ++i) {
    EchoRequest request = FailingRequest(i % 2);
    request.mutable_script()->set_by_attempt_header(true);
    grpc::ClientContext context;
    SetDeadline(&context, seconds(60));
    EchoResponse response;
    EXPECT_TRUE(
        Call(channel, EchoMethod::kIdempotent, &context, request, &response)
            .status.ok());
  }
  EXPECT_EQ(PendingTimers(), 0u);
}

// A29. Shutdown ends calls in backoff at once, exactly once, at any moment.
TEST_P(LifecycleTest, ShutdownEndsBackoffs) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::uniform_int_distribution<int> microseconds(0, 5000);
  EchoRequest request = FailingRequest(-1);
  request.mutable_script()->set_by_attempt_header(true);
  for (int round = 0; round < 125; ++round) {
    Config config = RetryConfig();
    SetBackoff(&config.DefaultMethod().retry, seconds(60));
    auto resilience = MakeResilience(std::move(config));
    auto channel = NewChannel(resilience);
    grpc::ClientContext context;
    EchoResponse response;
    RunningCall call = Start(GetParam(), channel, EchoMethod::kIdempotent,
                             &context, request, &response);
    std::this_thread::sleep_for(
        std::chrono::microseconds(microseconds(random)));
    const auto shut_down_at = std::chrono::steady_clock::now();
    resilience->Shutdown();
    resilience.reset();
    const CallResult result = call.Wait();
    EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - shut_down_at),
              1000 * TimeFactor());
    EXPECT_EQ(result.status.error_code(), StatusCode::UNAVAILABLE);
    channel.reset();
  }
  EXPECT_EQ(PendingTimers(), 0u);
}

// After Shutdown calls are single attempts.
TEST_P(LifecycleTest, CallsAfterShutdownAreSingleAttempts) {
  const auto resilience = MakeResilience(RetryConfig());
  const auto channel = NewChannel(resilience);
  resilience->Shutdown();
  resilience->Shutdown();
  EXPECT_TRUE(Call(channel, EchoMethod::kIdempotent, NewRequest()).status.ok());
  const EchoRequest request = FailingRequest(-1);
  EXPECT_EQ(Call(channel, EchoMethod::kIdempotent, request).status.error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(Hits(request).count(), 1);
}

INSTANTIATE_TEST_SUITE_P(, LifecycleTest, AllCallStyles(), CallStyleName);

// --- Programs of their own: this binary, started again for one test ----------

// Runs a DISABLED_ test of this binary in a fresh process; its exit code.
int RunFresh(const std::string& test, const std::string& target) {
  setenv(kTargetVariable, target.c_str(), 1);
  const std::string filter = "--gtest_filter=" + test;
  std::string words[] = {"/proc/self/exe", filter,
                         "--gtest_also_run_disabled_tests"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

EchoRequest RetriedRequest() {
  EchoRequest request;
  request.set_key("fresh process");
  request.mutable_script()->set_fail_times(1);
  request.mutable_script()->set_code(StatusCode::UNAVAILABLE);
  request.mutable_script()->set_by_attempt_header(true);
  return request;
}

std::shared_ptr<grpc::Channel> ChannelToTarget(
    const std::shared_ptr<Resilience>& resilience) {
  return CreateChannel(resilience, std::getenv(kTargetVariable),
                       grpc::InsecureChannelCredentials());
}

bool CallSucceeds(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  SetDeadline(&context, seconds(20));
  EchoResponse response;
  return Call(CallStyle::kSync, channel, EchoMethod::kIdempotent, &context,
              RetriedRequest(), &response)
      .status.ok();
}

// Destroyed after main has returned.
std::shared_ptr<Resilience> static_resilience;
std::shared_ptr<grpc::Channel> static_channel;

TEST(FreshProcess, DISABLED_ExitsWithStaticChannel) {
  static_resilience = MakeResilience(RetryConfig());
  static_channel = ChannelToTarget(static_resilience);
  EXPECT_TRUE(CallSucceeds(static_channel));
}

TEST(FreshProcess, DISABLED_Forks) {
  const auto wait_for = [](pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  // Policies start no thread, and a child made before the first channel can call.
  const auto resilience = MakeResilience(RetryConfig());
  EXPECT_EQ(CountThreads().all, 1);
  const pid_t early = fork();
  if (early == 0) {
    _exit(CallSucceeds(ChannelToTarget(resilience)) ? 0 : 1);
  }
  EXPECT_EQ(wait_for(early), 0);

  const auto channel = ChannelToTarget(resilience);
  EXPECT_TRUE(CallSucceeds(channel));
  const pid_t exiting = fork();
  if (exiting == 0) _exit(7);
  EXPECT_EQ(wait_for(exiting), 7);
  const pid_t executing = fork();
  if (executing == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(1);
  }
  EXPECT_EQ(wait_for(executing), 0);
  EXPECT_TRUE(CallSucceeds(channel));
}

class FreshProcessTest : public EndToEndTest {};

// A31.
TEST_F(FreshProcessTest, ProgramWithStaticChannelExits) {
  for (int run = 0; run < 100; ++run) {
    const auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(RunFresh("FreshProcess.DISABLED_ExitsWithStaticChannel",
                       backend().target()),
              0);
    EXPECT_LT(Milliseconds(std::chrono::steady_clock::now() - started),
              2000 * TimeFactor());
  }
}

// A32.
TEST_F(FreshProcessTest, ForkBeforeAndAfterTheFirstChannel) {
  EXPECT_EQ(RunFresh("FreshProcess.DISABLED_Forks", backend().target()), 0);
}

}  // namespace
}  // namespace grpc_resilience::test

// Nothing that was acknowledged as queued is lost when the client is killed, and no
// two processes deliver one request at the same time.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "grpc_resilience/sqlite_queue_store.h"
#include "queue/queue_file.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

/// Does what a request says once for each idempotency key.
class IdempotentService : public Echo::Service {
 public:
  grpc::Status Idempotent(grpc::ServerContext* context,
                          const EchoRequest* request,
                          EchoResponse* /*response*/) override {
    const auto header = context->client_metadata().find("idempotency-key");
    if (header == context->client_metadata().end()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "no key"};
    }
    const std::string key(header->second.data(), header->second.size());
    if (down_) return {grpc::StatusCode::UNAVAILABLE, "down"};
    {
      const std::lock_guard<std::mutex> lock(mu_);
      ++arrivals_;
      arrived_[key].push_back(std::chrono::steady_clock::now());
      peers_.insert(context->peer());
      if (!running_.insert(key).second) ++concurrent_;
    }
    std::this_thread::sleep_for(milliseconds(work_ms_));
    const std::lock_guard<std::mutex> lock(mu_);
    running_.erase(key);
    if (seen_.insert(key).second) {
      keys_[request->key()].insert(key);
    } else {
      ++repeated_;
    }
    return grpc::Status::OK;
  }

  void SetDown(bool down) { down_ = down; }
  void SetWork(int milliseconds) { work_ms_ = milliseconds; }
  /// The idempotency keys under which a request took effect.
  std::set<std::string> EffectsOf(const std::string& request_key) const {
    const std::lock_guard<std::mutex> lock(mu_);
    const auto found = keys_.find(request_key);
    return found == keys_.end() ? std::set<std::string>() : found->second;
  }
  /// No request took effect under two keys.
  bool EveryEffectOnce() const {
    const std::lock_guard<std::mutex> lock(mu_);
    for (const auto& [request, keys] : keys_) {
      if (keys.size() != 1) return false;
    }
    return true;
  }
  /// Idempotency key -> when it arrived.
  std::map<std::string, std::vector<std::chrono::steady_clock::time_point>>
  arrived() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return arrived_;
  }
  int arrivals() const { return Get(arrivals_); }
  int repeated() const { return Get(repeated_); }
  int concurrent() const { return Get(concurrent_); }
  int effects() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return static_cast<int>(keys_.size());
  }
  int peers() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return static_cast<int>(peers_.size());
  }

 private:
  int Get(const int& number) const {
    const std::lock_guard<std::mutex> lock(mu_);
    return number;
  }

  std::atomic<bool> down_{false};
  std::atomic<int> work_ms_{0};
  mutable std::mutex mu_;
  std::map<std::string, std::set<std::string>> keys_;
  std::set<std::string> seen_;
  std::set<std::string> running_;
  std::set<std::string> peers_;
  std::map<std::string, std::vector<std::chrono::steady_clock::time_point>>
      arrived_;
  int arrivals_ = 0;
  int repeated_ = 0;
  int concurrent_ = 0;
};

/// A queue_client. Its output is read when it is over.
class ClientProcess {
 public:
  explicit ClientProcess(std::vector<std::string> arguments) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    // Room for all that it says, so that nobody has to read meanwhile.
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    arguments.insert(arguments.begin(), QUEUE_CLIENT_PATH);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~ClientProcess() {
    if (pid_ > 0) Kill();
    close(output_);
  }
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;

  void Kill() {
    kill(pid_, SIGKILL);
    Wait();
  }
  /// Until it has said something; not for ever.
  void AwaitOutput() const {
    pollfd waiting = {output_, POLLIN, 0};
    poll(&waiting, 1, 20000);
  }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::vector<std::pair<std::string, std::string>> Lines() const {
    std::string text;
    char buffer[4096];
    for (;;) {
      const ssize_t size = read(output_, buffer, sizeof buffer);
      if (size <= 0) break;
      text.append(buffer, static_cast<std::size_t>(size));
    }
    std::vector<std::pair<std::string, std::string>> lines;
    std::istringstream in(text);
    std::string what;
    std::string key;
    while (in >> what >> key) lines.emplace_back(what, key);
    return lines;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// 20 s; GRPC_RESILIENCE_QUEUE_KILLS is for more, or fewer.
int Kills() {
  const char* const text = std::getenv("GRPC_RESILIENCE_QUEUE_KILLS");
  return text != nullptr ? std::atoi(text) : 200;
}

class FallbackQueueCrashTest : public testing::Test {
 protected:
  FallbackQueueCrashTest() : watchdog_(seconds(100 + 3 * Kills())) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~FallbackQueueCrashTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
  }
  std::string target() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Entries that are due, with the idempotency keys key0, key1, …
  void Queue(int entries) {
    SqliteQueueStore store(file_.path());
    std::vector<QueuedRequest> requests;
    const auto now = std::chrono::time_point_cast<milliseconds>(
        std::chrono::system_clock::now());
    for (int i = 0; i < entries; ++i) {
      EchoRequest request;
      request.set_key(std::to_string(i));
      QueuedRequest& queued = requests.emplace_back();
      queued.target = target();
      queued.method = MethodName(EchoMethod::kIdempotent);
      queued.request = request.SerializeAsString();
      queued.metadata = {{"idempotency-key", "key" + std::to_string(i)}};
      queued.queued = now;
      queued.expires = now + std::chrono::hours(1);
    }
    ASSERT_TRUE(store.Put(requests).ok());
  }

  const Watchdog watchdog_;
  QueueFile file_;
  IdempotentService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(FallbackQueueCrashTest, NothingAcknowledgedIsLost) {
  std::mt19937 random(20260731);
  std::set<std::string> queued;
  std::set<std::string> done;
  int deaths_with_queued = 0;
  service_.SetWork(3);
  for (int round = 0; round < Kills(); ++round) {
    // Every third one may be killed while it delivers.
    service_.SetDown(round % 3 != 0);
    ClientProcess client(
        {file_.path(), target(), "r" + std::to_string(round) + "-", "100000"});
    // Most are killed at their work, some while they start.
    if (round % 5 != 0) client.AwaitOutput();
    const int most = round % 5 != 0 ? 60 : 200;
    const auto time = std::uniform_int_distribution<int>(0, most)(random);
    std::this_thread::sleep_for(milliseconds(time));
    client.Kill();
    bool any = false;
    for (const auto& [what, key] : client.Lines()) {
      (what == "QUEUED" ? queued : done).insert(key);
      any = any || what == "QUEUED";
    }
    if (any) ++deaths_with_queued;
  }
  service_.SetWork(0);
  service_.SetDown(false);
  ClientProcess drain({file_.path(), target(), "-", "0"});
  EXPECT_EQ(drain.Wait(), 0);

  for (const std::string& key : queued) {
    EXPECT_EQ(service_.EffectsOf(key).size(), 1u) << key;
  }
  for (const std::string& key : done) {
    EXPECT_EQ(service_.EffectsOf(key).size(), 1u) << key;
  }
  EXPECT_TRUE(service_.EveryEffectOnce());
  EXPECT_GT(deaths_with_queued, 0);
  std::printf(
      "%d kills, %d with requests queued; %zu acknowledged as queued, "
      "all of them delivered; %zu done at once; %d arrivals, %d of them "
      "repetitions\n",
      Kills(), deaths_with_queued, queued.size(), done.size(),
      service_.arrivals(), service_.repeated());
}

TEST_F(FallbackQueueCrashTest, TwoProcessesDeliverNothingTwice) {
  constexpr int kEntries = 200;
  Queue(kEntries);
  service_.SetWork(20);
  ClientProcess one({file_.path(), target(), "-", "0"});
  ClientProcess two({file_.path(), target(), "-", "0"});
  EXPECT_EQ(one.Wait(), 0);
  EXPECT_EQ(two.Wait(), 0);
  EXPECT_EQ(service_.effects(), kEntries);
  EXPECT_EQ(service_.arrivals(), kEntries);
  EXPECT_EQ(service_.concurrent(), 0);
  std::printf("%d entries, %d arrivals from %d processes\n", kEntries,
              service_.arrivals(), service_.peers());
}

// What a killed process was delivering waits out its lease, because the server may
// still be at work on it; everything else goes on at once.
TEST_F(FallbackQueueCrashTest, OnlyWhatWasUnderWayWaitsForItsLease) {
  constexpr int kEntries = 20;
  constexpr double kLeaseMs = 6000;  // queue_client: delivery_timeout + 5 s
  Queue(kEntries);
  service_.SetWork(800);
  const auto leased_after = std::chrono::steady_clock::now();
  {
    ClientProcess client({file_.path(), target(), "-", "0"});
    WaitUntil([&] { return service_.arrivals() == 4; }, "four under way");
    client.Kill();
  }
  service_.SetWork(0);
  const auto restarted = std::chrono::steady_clock::now();
  ClientProcess client({file_.path(), target(), "-", "0"});
  EXPECT_EQ(client.Wait(), 0);
  int waited = 0;
  double last_of_the_others = 0;
  for (const auto& [key, times] : service_.arrived()) {
    if (times.front() >= restarted) {
      last_of_the_others =
          std::max(last_of_the_others, Milliseconds(times.back() - restarted));
      EXPECT_EQ(times.size(), 1u) << key;
      continue;
    }
    ++waited;
    ASSERT_EQ(times.size(), 2u) << key;
    EXPECT_GE(Milliseconds(times.back() - leased_after), kLeaseMs) << key;
  }
  EXPECT_EQ(waited, 4);
  EXPECT_LT(last_of_the_others, 2000 * TimeFactor());
  EXPECT_EQ(service_.effects(), kEntries);
  EXPECT_EQ(service_.concurrent(), 0);
  std::printf(
      "%d entries of a killed process waited; the others took %.0f ms\n",
      waited, last_of_the_others);
}

}  // namespace
}  // namespace grpc_resilience::test

// Very many watchers, and watchers that don't read.

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "admin/end_to_end/admin_test.h"

namespace grpc_resilience::test {
namespace {

/// Reads a watch on gRPC's threads, or only begins it. This type is safe to use from
/// several threads at once.
class Watcher : public grpc::ClientReadReactor<pb::WatchBreakersResponse> {
 public:
  enum class Reads { kEverything, kNothing };

  Watcher(AdminStub& stub, Reads reads) {
    context_.AddMetadata("authorization", std::string("Bearer ") + kReadToken);
    stub.async()->WatchBreakers(&context_, &request_, this);
    if (reads == Reads::kEverything) StartRead(&message_);
    StartCall();
  }
  ~Watcher() override {
    context_.TryCancel();
    std::unique_lock<std::mutex> lock(mu_);
    over_.wait(lock, [this] { return done_; });
  }

  void Read() { StartRead(&message_); }

  bool ready() const { return ready_; }
  bool saw_forced() const { return saw_forced_; }
  bool done() const {
    std::lock_guard<std::mutex> lock(mu_);
    return done_;
  }
  grpc::StatusCode code() const { return status().error_code(); }
  grpc::Status status() const {
    std::lock_guard<std::mutex> lock(mu_);
    return status_;
  }
  int transitions() const { return transitions_; }
  std::uint64_t missed() const { return missed_; }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (message_.snapshot().complete()) ready_ = true;
    missed_ += message_.missed().transitions();
    for (const auto& transition : message_.transitions().transitions()) {
      ++transitions_;
      if (transition.mode() == pb::FORCED_OPEN) saw_forced_ = true;
    }
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    std::lock_guard<std::mutex> lock(mu_);
    status_ = status;
    done_ = true;
    over_.notify_all();
  }

 private:
  grpc::ClientContext context_;
  const pb::WatchBreakersRequest request_;
  pb::WatchBreakersResponse message_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> saw_forced_{false};
  std::atomic<int> transitions_{0};
  std::atomic<std::uint64_t> missed_{0};
  mutable std::mutex mu_;
  std::condition_variable over_;
  bool done_ = false;
  grpc::Status status_;
};

class WatchersTest : public AdminTest {
 protected:
  void TearDown() override { EXPECT_TRUE(Force(pb::AUTO).ok()); }

  /// A connection for each fifty.
  std::vector<std::unique_ptr<Watcher>> NewWatchers(int count,
                                                    Watcher::Reads reads) {
    std::vector<std::unique_ptr<Watcher>> watchers;
    for (int i = 0; i < count; ++i) {
      if (i % 50 == 0) {
        stubs_.push_back(
            pb::ResilienceAdmin::NewStub(NewChannel(subject().address())));
      }
      watchers.push_back(std::make_unique<Watcher>(*stubs_.back(), reads));
    }
    return watchers;
  }
  template <typename Predicate>
  static void WaitForAll(const std::vector<std::unique_ptr<Watcher>>& watchers,
                         const std::string& what, Predicate predicate) {
    WaitUntil(
        [&] {
          return std::all_of(
              watchers.begin(), watchers.end(),
              [&](const auto& watcher) { return predicate(*watcher); });
        },
        what, seconds(30));
  }

  std::vector<std::unique_ptr<AdminStub>> stubs_;
};

TEST_F(WatchersTest, AThousandHearOfATransitionAndTheNextIsRefused) {
  const Subject::Stats before = StatsOf(100);
  auto watchers = NewWatchers(1000, Watcher::Reads::kEverything);
  WaitForAll(watchers, "snapshots", [](const Watcher& w) { return w.ready(); });
  Watcher one_more(*stub_, Watcher::Reads::kEverything);
  WaitUntil([&] { return one_more.done(); }, "the refusal");
  EXPECT_EQ(one_more.code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  const Subject::Stats during = StatsOf(100);
  EXPECT_EQ(during.failed, 0);
  ASSERT_TRUE(Force(pb::FORCED_OPEN).ok());
  WaitForAll(watchers, "the transition",
             [](const Watcher& w) { return w.saw_forced(); });
  // About 40 KiB for each, most of which gRPC takes.
  if (TimeFactor() == 1) {
    EXPECT_LT(during.resident_kib - before.resident_kib, 120 * 1024);
  }

  // Their places are free again.
  watchers.clear();
  WaitUntil(
      [&] {
        Watcher again(*stub_, Watcher::Reads::kEverything);
        WaitUntil([&] { return again.done() || again.ready(); }, "a word");
        return again.ready();
      },
      "a place");
}

TEST_F(WatchersTest, WhoDoesNotReadCostsLittleAndIsEnded) {
  StatsOf(20);
  const auto silent = NewWatchers(20, Watcher::Reads::kNothing);
  Watcher attentive(*stub_, Watcher::Reads::kEverything);
  WaitUntil([&] { return attentive.ready(); }, "the snapshot");
  const Subject::Stats before = StatsOf(20);
  // More than the log and gRPC's windows hold.
  constexpr int kTransitions = 3000;
  const std::string long_reason(150, 'r');
  for (int i = 0; i < kTransitions; ++i) {
    ASSERT_TRUE(
        Force(i % 2 == 0 ? pb::SHADOW : pb::AUTO, kChangeToken, long_reason)
            .ok());
    if (i % 100 == 0) subject().TakeStats();  // and its log: a pipe is small
  }
  WaitUntil(
      [&] {
        return attentive.transitions() + static_cast<int>(attentive.missed()) >=
               kTransitions;
      },
      "the transitions");
  // They take nothing for 2 s and more. What gRPC has taken for them comes before the
  // news of their end.
  std::this_thread::sleep_for(Scaled(seconds(4)));
  for (const auto& watcher : silent) watcher->Read();
  WaitForAll(silent, "the end", [](const Watcher& w) { return w.done(); });
  for (const auto& watcher : silent) {
    EXPECT_EQ(watcher->code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << watcher->status().error_message();
    EXPECT_EQ(watcher->status().error_message(), "the watcher doesn't read");
    EXPECT_LT(watcher->transitions(), kTransitions);
  }
  EXPECT_FALSE(attentive.done());
  const Subject::Stats after = StatsOf(100);
  EXPECT_EQ(after.failed, 0);
  if (TimeFactor() == 1) {
    EXPECT_LT(after.resident_kib - before.resident_kib, 40 * 1024);
  }
}

}  // namespace
}  // namespace grpc_resilience::test

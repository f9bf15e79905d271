// What a watcher is sent, however slowly it reads.

#include "admin/watch_view.h"

#include "admin/admin_fixture.h"
#include "admin/transition_log.h"

namespace grpc_resilience::internal {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

pb::Transition Numbered(std::uint64_t generation) {
  pb::Transition transition;
  transition.mutable_key()->set_target("a");
  transition.set_generation(generation);
  return transition;
}

std::vector<std::uint64_t> Generations(const TransitionLog::Part& part) {
  std::vector<std::uint64_t> generations;
  for (const auto& entry : part.entries) {
    generations.push_back(entry->generation());
  }
  return generations;
}

TEST(TransitionLogTest, ReadersGoAtTheirOwnPace) {
  TransitionLog log(3);
  const std::uint64_t start = log.end();
  log.Add(Numbered(1));
  log.Add(Numbered(2));
  TransitionLog::Part part = log.Read(start, 1);
  EXPECT_THAT(Generations(part), ElementsAre(1));
  part = log.Read(part.next, 10);
  EXPECT_THAT(Generations(part), ElementsAre(2));
  EXPECT_THAT(log.Read(part.next, 10).entries, SizeIs(0));
  // Three are kept: the reader of `start` misses the first two of five.
  for (std::uint64_t i = 3; i <= 5; ++i) log.Add(Numbered(i));
  part = log.Read(start, 10);
  EXPECT_EQ(part.missed, 5u);
  EXPECT_THAT(part.entries, SizeIs(0));
  EXPECT_EQ(part.next, log.end());
}

class WatchViewTest : public AdminFixture {
 protected:
  WatchView View(pb::BreakerFilter filter = {}) {
    return WatchView(resilience_->registry(), clock_, log_, std::move(filter),
                     seconds(10));
  }
  void Log(const std::string& target, std::uint64_t generation) {
    pb::Transition transition = Numbered(generation);
    transition.mutable_key()->set_target(target);
    log_.Add(transition);
  }

  TransitionLog log_{100};
};

TEST_F(WatchViewTest, TheBreakersOfNowComeFirstInParts) {
  for (int i = 0; i < 120; ++i) Breaker("t" + std::to_string(i));
  WatchView view = View();
  int breakers = 0;
  for (const bool last : {false, false, true}) {
    const auto message = view.Next();
    ASSERT_TRUE(message && message->has_snapshot());
    breakers += message->snapshot().breakers_size();
    EXPECT_EQ(message->snapshot().complete(), last);
  }
  EXPECT_EQ(breakers, 120);
  EXPECT_FALSE(view.Next());
}

TEST_F(WatchViewTest, WithoutBreakersTheSnapshotIsEmptyAndComplete) {
  WatchView view = View();
  const auto message = view.Next();
  ASSERT_TRUE(message && message->has_snapshot());
  EXPECT_TRUE(message->snapshot().complete());
}

TEST_F(WatchViewTest, TransitionsFollowAlsoThoseDuringTheSnapshot) {
  WatchView view = View();
  Log("a", 1);
  view.Next();
  auto message = view.Next();
  ASSERT_TRUE(message && message->has_transitions());
  EXPECT_THAT(message->transitions().transitions(), SizeIs(1));
  EXPECT_FALSE(view.Next());
  for (std::uint64_t i = 2; i < 72; ++i) Log("a", i);
  message = view.Next();
  ASSERT_TRUE(message);
  EXPECT_THAT(message->transitions().transitions(), SizeIs(64));
  message = view.Next();
  ASSERT_TRUE(message);
  EXPECT_THAT(message->transitions().transitions(), SizeIs(6));
}

TEST_F(WatchViewTest, WhoIsTooSlowStartsAnew) {
  Breaker("a");
  WatchView view = View();
  view.Next();
  for (std::uint64_t i = 1; i <= 250; ++i) Log("a", i);
  auto message = view.Next();
  ASSERT_TRUE(message && message->has_missed());
  EXPECT_EQ(message->missed().transitions(), 250u);
  message = view.Next();
  ASSERT_TRUE(message && message->has_snapshot());
  EXPECT_THAT(message->snapshot().breakers(), SizeIs(1));
  EXPECT_FALSE(view.Next());
}

TEST_F(WatchViewTest, SilenceIsBrokenByHeartbeats) {
  WatchView view = View();
  view.Next();
  clock_.Advance(seconds(9));
  EXPECT_FALSE(view.Next());
  clock_.Advance(seconds(1));
  const auto message = view.Next();
  ASSERT_TRUE(message && message->has_heartbeat());
  EXPECT_FALSE(view.Next());
}

TEST_F(WatchViewTest, TheFilterHolds) {
  Breaker("a");
  Open("b");
  Breaker("bb");
  pb::BreakerFilter filter;
  filter.set_contains("b");
  filter.add_states(pb::OPEN);
  WatchView view = View(filter);
  auto message = view.Next();
  ASSERT_TRUE(message);
  EXPECT_THAT(message->snapshot().breakers(), SizeIs(1));
  // States are of the snapshot: that "b" is open no longer must be heard.
  for (std::uint64_t i = 1; i <= 90; ++i) Log("a", i);
  Log("bb", 7);
  message = view.Next();
  ASSERT_TRUE(message && message->has_transitions());
  ASSERT_THAT(message->transitions().transitions(), SizeIs(1));
  EXPECT_EQ(message->transitions().transitions(0).generation(), 7u);
}

}  // namespace
}  // namespace grpc_resilience::internal

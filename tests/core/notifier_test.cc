#include "core/notifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "grpc_resilience/testing/recording_observer.h"

namespace grpc_resilience::internal {
namespace {

TransitionEvent Transition(std::uint64_t generation) {
  TransitionEvent event;
  event.generation = generation;
  return event;
}

std::vector<std::uint64_t> Generations(const RecordingObserver& observer) {
  std::vector<std::uint64_t> generations;
  for (const auto& event : observer.transitions()) {
    generations.push_back(event.generation);
  }
  return generations;
}

class CallbackObserver : public CallObserver {
 public:
  explicit CallbackObserver(std::function<void(const TransitionEvent&)> run)
      : run_(std::move(run)) {}
  void OnTransition(const TransitionEvent& event) override { run_(event); }

 private:
  std::function<void(const TransitionEvent&)> run_;
};

using Generation = std::vector<std::uint64_t>;

TEST(NotifierTest, AnObserverThatCannotSayHearsCalls) {
  class Undecided : public CallObserver {
   public:
    bool HearsCalls() const override { throw std::runtime_error("hm"); }
  };
  const auto notifier = std::make_shared<Notifier>(nullptr);
  EXPECT_NO_THROW(notifier->AddObserver(std::make_shared<Undecided>()));
  EXPECT_EQ(notifier->observers()->size(), 1u);
  EXPECT_EQ(notifier->call_observers()->size(), 1u);
}

TEST(NotifierTest, WithoutAnExecutorEventsAreDeliveredAtOnce) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  notifier->OnTransition(Transition(1));
  EXPECT_EQ(Generations(*observer), Generation{1});
  notifier->OnNotice({"t", "m", "text"});
  ASSERT_EQ(observer->notices().size(), 1u);
  EXPECT_EQ(observer->notices()[0].text, "text");
}

TEST(NotifierTest, ObserversHearOnlyWhatHappensAfterTheyWereAdded) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  const auto early = std::make_shared<RecordingObserver>();
  const auto late = std::make_shared<RecordingObserver>();
  notifier->OnTransition(Transition(1));
  notifier->AddObserver(early);
  notifier->OnTransition(Transition(2));
  notifier->AddObserver(late);
  notifier->OnTransition(Transition(3));
  EXPECT_EQ(Generations(*early), (Generation{2, 3}));
  EXPECT_EQ(Generations(*late), Generation{3});
  EXPECT_EQ(notifier->observers()->size(), 2u);
}

TEST(NotifierTest, AnExecutorGetsOneTaskForAllThatWaits) {
  std::deque<std::function<void()>> tasks;
  const auto notifier = std::make_shared<Notifier>(
      [&](std::function<void()> task) { tasks.push_back(std::move(task)); });
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  for (std::uint64_t i = 1; i <= 3; ++i) notifier->OnTransition(Transition(i));
  EXPECT_TRUE(observer->transitions().empty());
  ASSERT_EQ(tasks.size(), 1u);
  tasks.front()();
  EXPECT_EQ(Generations(*observer), (Generation{1, 2, 3}));
  notifier->OnTransition(Transition(4));
  ASSERT_EQ(tasks.size(), 2u);
  tasks.back()();
  EXPECT_EQ(Generations(*observer), (Generation{1, 2, 3, 4}));
}

TEST(NotifierTest, TheFirstExecutorStays) {
  int first = 0;
  int second = 0;
  const auto notifier = std::make_shared<Notifier>(nullptr);
  notifier->UseExecutor([&](auto task) { ++first, task(); });
  notifier->UseExecutor([&](auto task) { ++second, task(); });
  notifier->AddObserver(std::make_shared<RecordingObserver>());
  notifier->OnTransition(Transition(1));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
}

TEST(NotifierTest, WithoutObserversTheExecutorIsLeftAlone) {
  const auto notifier =
      std::make_shared<Notifier>([](std::function<void()>) { FAIL(); });
  notifier->OnTransition(Transition(1));
}

TEST(NotifierTest, AnExecutorThatThrowsCostsNoEvent) {
  const auto notifier = std::make_shared<Notifier>(
      [](std::function<void()>) { throw std::runtime_error("full"); });
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  notifier->OnTransition(Transition(1));
  notifier->OnTransition(Transition(2));
  EXPECT_EQ(Generations(*observer), (Generation{1, 2}));
}

// D16
TEST(NotifierTest, AnObserverThatThrowsDoesNotSilenceTheOthers) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  notifier->AddObserver(std::make_shared<CallbackObserver>(
      [](const TransitionEvent&) { throw std::runtime_error("observer"); }));
  notifier->AddObserver(std::make_shared<CallbackObserver>(
      [](const TransitionEvent&) { throw 42; }));
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  notifier->OnTransition(Transition(1));
  notifier->OnTransition(Transition(2));
  EXPECT_EQ(Generations(*observer), (Generation{1, 2}));
}

// D16: an observer that causes the next event
TEST(NotifierTest, EventsCausedByObserversComeAfterTheirCause) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  notifier->AddObserver(std::make_shared<CallbackObserver>(
      [raw = notifier.get()](const TransitionEvent& event) {
        if (event.generation < 3) {
          raw->OnTransition(Transition(event.generation + 1));
          (void)raw->observers();
        }
      }));
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  notifier->OnTransition(Transition(1));
  EXPECT_EQ(Generations(*observer), (Generation{1, 2, 3}));
}

TEST(NotifierTest, EventsOnTheirWaySurviveTheNotifiersOwner) {
  std::deque<std::function<void()>> tasks;
  auto notifier = std::make_shared<Notifier>(
      [&](std::function<void()> task) { tasks.push_back(std::move(task)); });
  const auto observer = std::make_shared<RecordingObserver>();
  notifier->AddObserver(observer);
  notifier->OnTransition(Transition(1));
  notifier.reset();
  tasks.front()();
  EXPECT_EQ(Generations(*observer), Generation{1});
}

// One at a time and in each producer's order, though every task has a thread of
// its own.
TEST(NotifierTest, SeveralThreadsAreServedOneEventAtATime) {
  absl::Mutex mu;
  std::vector<std::thread> workers;
  const auto notifier =
      std::make_shared<Notifier>([&](std::function<void()> task) {
        absl::MutexLock lock(&mu);
        workers.emplace_back(std::move(task));
      });
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  std::vector<std::uint64_t> heard;  // unguarded: there is one caller at a time
  notifier->AddObserver(
      std::make_shared<CallbackObserver>([&](const TransitionEvent& event) {
        if (inside.fetch_add(1) != 0) overlapped = true;
        heard.push_back(event.generation);
        inside.fetch_sub(1);
      }));
  constexpr std::uint64_t kEach = 500;
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < 4; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        notifier->OnTransition(Transition(p * kEach + i));
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  for (std::thread& worker : workers) worker.join();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(heard.size(), 4 * kEach);
  std::uint64_t next[4] = {0, kEach, 2 * kEach, 3 * kEach};
  for (const std::uint64_t generation : heard) {
    EXPECT_EQ(generation, next[generation / kEach]++);
  }
}

TEST(NotifierTest, ARemovedObserverHearsNothingMore) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  const auto stays = std::make_shared<RecordingObserver>();
  const auto goes = std::make_shared<RecordingObserver>();
  notifier->AddObserver(stays);
  notifier->AddObserver(goes);
  notifier->OnTransition(Transition(1));
  EXPECT_TRUE(notifier->RemoveObserver(goes.get()));
  EXPECT_FALSE(notifier->RemoveObserver(goes.get()));
  notifier->OnTransition(Transition(2));
  EXPECT_EQ(Generations(*stays), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(Generations(*goes), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(goes.use_count(), 1);
}

class TransitionsOnly : public RecordingObserver {
 public:
  bool HearsCalls() const override { return false; }
};

TEST(NotifierTest, CallsPayOnlyForWhoHearsThem) {
  const auto notifier = std::make_shared<Notifier>(nullptr);
  const auto quiet = std::make_shared<TransitionsOnly>();
  notifier->AddObserver(quiet);
  EXPECT_TRUE(notifier->call_observers()->empty());
  EXPECT_EQ(notifier->observers()->size(), 1u);
  notifier->OnTransition(Transition(1));
  EXPECT_EQ(Generations(*quiet), (std::vector<std::uint64_t>{1}));
  notifier->AddObserver(std::make_shared<RecordingObserver>());
  EXPECT_EQ(notifier->call_observers()->size(), 1u);
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "core/transition_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace grpc_resilience::internal {
namespace {

using testing::ElementsAre;

TransitionEvent Event(std::uint64_t generation) {
  TransitionEvent event;
  event.generation = generation;
  return event;
}

/// Remembers generations; `then` runs on each. Events come one at a time, so it
/// needs no lock.
class Sink : public TransitionSink {
 public:
  void OnTransition(const TransitionEvent& event) override {
    heard.push_back(event.generation);
    if (then) then(event);
  }
  std::vector<std::uint64_t> heard;
  std::function<void(const TransitionEvent&)> then;
};

TEST(TransitionOutboxTest, HandsOverInOrderAndOnce) {
  Sink sink;
  TransitionOutbox outbox(&sink);
  outbox.Push(Event(1));
  outbox.Push(Event(2));
  EXPECT_TRUE(sink.heard.empty());
  outbox.Deliver();
  outbox.Deliver();
  EXPECT_THAT(sink.heard, ElementsAre(1, 2));
  outbox.Push(Event(3));
  outbox.Deliver();
  EXPECT_THAT(sink.heard, ElementsAre(1, 2, 3));
}

TEST(TransitionOutboxTest, NothingToDoWithoutASink) {
  TransitionOutbox outbox(nullptr);
  outbox.Push(Event(1));
  outbox.Deliver();
}

// A sink that calls the breaker, which has a transition, gets it afterwards, not
// in the middle of the one before.
TEST(TransitionOutboxTest, WhatTheSinkCausesComesAfterwards) {
  Sink sink;
  TransitionOutbox outbox(&sink);
  bool returned = false;
  sink.then = [&](const TransitionEvent& event) {
    if (event.generation != 1) {
      EXPECT_TRUE(returned);
      return;
    }
    outbox.Push(Event(2));
    outbox.Deliver();
    EXPECT_THAT(sink.heard, ElementsAre(1));
    returned = true;
  };
  outbox.Push(Event(1));
  outbox.Deliver();
  EXPECT_THAT(sink.heard, ElementsAre(1, 2));
}

TEST(TransitionOutboxTest, SinkThatThrowsHearsTheRest) {
  Sink sink;
  TransitionOutbox outbox(&sink);
  sink.then = [](const TransitionEvent& event) {
    if (event.generation == 1) throw std::runtime_error("sink");
  };
  outbox.Push(Event(1));
  outbox.Push(Event(2));
  outbox.Deliver();
  EXPECT_THAT(sink.heard, ElementsAre(1, 2));
}

// The second thread leaves its event to the first and goes on.
TEST(TransitionOutboxTest, NobodyWaitsForASlowSink) {
  Sink sink;
  TransitionOutbox outbox(&sink);
  absl::Notification busy;
  absl::Notification left;
  sink.then = [&](const TransitionEvent& event) {
    if (event.generation != 1) return;
    busy.Notify();
    left.WaitForNotification();
  };
  std::thread first([&] {
    outbox.Push(Event(1));
    outbox.Deliver();
  });
  busy.WaitForNotification();
  outbox.Push(Event(2));
  outbox.Deliver();
  left.Notify();
  first.join();
  EXPECT_THAT(sink.heard, ElementsAre(1, 2));
}

TEST(TransitionOutboxTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 2000;
  Sink sink;
  TransitionOutbox outbox(&sink);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&outbox, thread] {
      for (int i = 0; i < kEvents; ++i) {
        outbox.Push(Event(static_cast<std::uint64_t>(thread * kEvents + i)));
        outbox.Deliver();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(sink.heard.size(), std::size_t{kThreads} * kEvents);
  // Each thread's own events in its order.
  std::vector<std::uint64_t> next;
  for (int thread = 0; thread < kThreads; ++thread) {
    next.push_back(static_cast<std::uint64_t>(thread) * kEvents);
  }
  for (const std::uint64_t generation : sink.heard) {
    ASSERT_EQ(generation, next[generation / kEvents]++);
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

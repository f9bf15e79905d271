#include "grpc_resilience/sqlite_queue_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "queue/queue_file.h"

namespace grpc_resilience::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr WallTime kNow(hours(500000));
constexpr char kTarget[] = "payments:443";

QueuedRequest Request(std::string body, std::string ordering_key = {}) {
  QueuedRequest request;
  request.target = kTarget;
  request.method = "/pay.Payments/Charge";
  request.request = std::move(body);
  request.metadata = {{"idempotency-key", "k1"}, {"tenant", "blue"}};
  request.ordering_key = std::move(ordering_key);
  request.queued = kNow;
  request.expires = kNow + hours(24);
  return request;
}

std::vector<std::string> Bodies(
    const absl::StatusOr<std::vector<QueueEntry>>& entries) {
  EXPECT_TRUE(entries.ok()) << entries.status();
  std::vector<std::string> bodies;
  if (entries.ok()) {
    for (const QueueEntry& entry : *entries) bodies.push_back(entry.request);
  }
  return bodies;
}

class SqliteQueueStoreTest : public testing::Test {
 protected:
  std::vector<QueueEntry> Lease(int most = 100, WallTime now = kNow,
                                const char* owner = "me") {
    auto leased = store_.Lease(kTarget, owner, now, now + seconds(10), most);
    EXPECT_TRUE(leased.ok()) << leased.status();
    return leased.ok() ? *leased : std::vector<QueueEntry>();
  }
  void Put(std::vector<QueuedRequest> requests) {
    const auto ids = store_.Put(requests);
    ASSERT_TRUE(ids.ok()) << ids.status();
    ASSERT_THAT(*ids, SizeIs(requests.size()));
  }
  QueueStore::Counts Count() {
    const auto counts = store_.Count();
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.ok() ? *counts : QueueStore::Counts();
  }

  QueueFile file_;
  SqliteQueueStore store_{file_.path()};
};

TEST_F(SqliteQueueStoreTest, WhatIsPutComesBackWhole) {
  Put({Request(std::string("a\0b", 3), "key")});
  const auto leased = Lease();
  ASSERT_THAT(leased, SizeIs(1));
  const QueueEntry& entry = leased[0];
  EXPECT_EQ(entry.target, kTarget);
  EXPECT_EQ(entry.method, "/pay.Payments/Charge");
  EXPECT_EQ(entry.request, std::string("a\0b", 3));
  EXPECT_THAT(entry.metadata, ElementsAre(Pair("idempotency-key", "k1"),
                                          Pair("tenant", "blue")));
  EXPECT_EQ(entry.ordering_key, "key");
  EXPECT_EQ(entry.queued, kNow);
  EXPECT_EQ(entry.expires, kNow + hours(24));
  EXPECT_EQ(entry.owner, "me");
  EXPECT_EQ(entry.fence, 1);
}

TEST_F(SqliteQueueStoreTest, SurvivesTheProcess) {
  Put({Request("a")});
  SqliteQueueStore other(file_.path());
  EXPECT_THAT(Bodies(other.List({})), ElementsAre("a"));
}

TEST_F(SqliteQueueStoreTest, ALeaseIsForOneOwner) {
  Put({Request("a"), Request("b"), Request("c")});
  EXPECT_THAT(Lease(2), SizeIs(2));
  SqliteQueueStore other(file_.path());
  EXPECT_THAT(Bodies(other.Lease(kTarget, "you", kNow, kNow + seconds(10), 9)),
              ElementsAre("c"));
  EXPECT_THAT(Bodies(other.Lease("other:1", "you", kNow, kNow + hours(1), 9)),
              IsEmpty());
}

// Fencing: who was overtaken changes nothing any more.
TEST_F(SqliteQueueStoreTest, AnOvertakenLeaseChangesNothing) {
  Put({Request("a")});
  const QueueEntry first = Lease()[0];
  const QueueEntry second = Lease(1, kNow + seconds(11), "you")[0];
  EXPECT_EQ(second.fence, 2);
  EXPECT_FALSE(*store_.Complete(first));
  EXPECT_FALSE(*store_.Retry(first, kNow, true, "no"));
  EXPECT_FALSE(*store_.Bury(first, "no"));
  EXPECT_TRUE(*store_.Complete(second));
  EXPECT_EQ(Count().waiting, 0);
}

TEST_F(SqliteQueueStoreTest, OrderWithinAKey) {
  Put({Request("a1", "a"), Request("a2", "a"), Request("b1", "b"),
       Request("free")});
  auto leased = Lease();
  EXPECT_THAT(Bodies(leased), ElementsAre("a1", "b1", "free"));
  // A failed one still holds the others of its key back.
  EXPECT_TRUE(*store_.Retry(leased[0], kNow + minutes(1), true, "down"));
  EXPECT_THAT(Lease(), IsEmpty());
  leased = Lease(100, kNow + minutes(1));
  EXPECT_EQ(leased[0].request, "a1");
  EXPECT_EQ(leased[0].deliveries, 1);
  EXPECT_EQ(leased[0].last_error, "down");
  EXPECT_TRUE(*store_.Complete(leased[0]));
  EXPECT_EQ(Lease(1, kNow + minutes(1))[0].request, "a2");
}

// A dead letter lets those behind it by.
TEST_F(SqliteQueueStoreTest, DeadLetters) {
  Put({Request("a1", "a"), Request("a2", "a")});
  EXPECT_TRUE(*store_.Bury(Lease()[0], "INVALID_ARGUMENT: no"));
  EXPECT_EQ(Count().dead, 1);
  EXPECT_EQ(Count().waiting, 1);
  EXPECT_THAT(Bodies(Lease()), ElementsAre("a2"));
  QueueStore::Filter dead;
  dead.only_dead = true;
  const auto listed = store_.List(dead);
  ASSERT_THAT(Bodies(listed), ElementsAre("a1"));
  EXPECT_EQ((*listed)[0].last_error, "INVALID_ARGUMENT: no");

  EXPECT_EQ(*store_.Revive({}, kNow + hours(5)), 1);
  const auto again = Lease(1, kNow + hours(5));
  ASSERT_THAT(Bodies(again), ElementsAre("a1"));
  EXPECT_EQ(again[0].deliveries, 0);
  EXPECT_EQ(again[0].expires, kNow + hours(29));
}

TEST_F(SqliteQueueStoreTest, ExpiredOnesBecomeDeadLetters) {
  Put({Request("a")});
  EXPECT_THAT(Lease(9, kNow + hours(24)), IsEmpty());
  EXPECT_EQ(Count().dead, 1);
  EXPECT_EQ((*store_.List({}))[0].last_error, "expired; ");
}

TEST_F(SqliteQueueStoreTest, WithdrawTakesBackWhatNobodyLeased) {
  Put({Request("a"), Request("b")});
  const QueueEntry leased = Lease(1)[0];
  EXPECT_TRUE(store_.Withdraw({leased.id, leased.id + 1}).ok());
  EXPECT_THAT(Bodies(store_.List({})), ElementsAre("a"));
}

TEST_F(SqliteQueueStoreTest, DropLeavesWhatIsBeingDelivered) {
  Put({Request("a"), Request("b")});
  const QueueEntry leased = Lease(1)[0];
  EXPECT_EQ(*store_.Drop({leased.id, leased.id + 1}, kNow), 1);
  EXPECT_THAT(Bodies(store_.List({})), ElementsAre("a"));
}

TEST_F(SqliteQueueStoreTest, ListInPages) {
  Put({Request("a"), Request("b"), Request("c")});
  QueueStore::Filter filter;
  filter.limit = 2;
  const auto first = store_.List(filter);
  EXPECT_THAT(Bodies(first), ElementsAre("a", "b"));
  filter.after_id = first->back().id;
  EXPECT_THAT(Bodies(store_.List(filter)), ElementsAre("c"));
}

// Two processes' worth of stores never hold one entry at the same time.
TEST_F(SqliteQueueStoreTest, ManyLeasersAtOnce) {
  std::vector<QueuedRequest> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(Request(std::to_string(i)));
  Put(requests);
  std::vector<std::vector<QueueEntry>> taken(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SqliteQueueStore store(file_.path(), seconds(20));
      for (;;) {
        const auto leased = store.Lease(kTarget, std::to_string(t), kNow,
                                        kNow + seconds(10), 7);
        ASSERT_TRUE(leased.ok()) << leased.status();
        if (leased->empty()) return;
        taken[t].insert(taken[t].end(), leased->begin(), leased->end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t all = 0;
  for (const auto& entries : taken) {
    for (const QueueEntry& entry : entries) EXPECT_EQ(entry.fence, 1);
    all += entries.size();
  }
  EXPECT_EQ(all, 200u);
}

// --- Trouble: a clear status, and all is well once it is over.

TEST_F(SqliteQueueStoreTest, LockedFile) {
  Put({Request("a")});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file_.path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  SqliteQueueStore store(file_.path(), milliseconds(20));
  EXPECT_EQ(store.Put({Request("b")}).status(),
            absl::UnavailableError("the queue file is locked"));
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_TRUE(store.Put({Request("b")}).ok());
  EXPECT_THAT(Bodies(store.List({})), ElementsAre("a", "b"));
}

TEST_F(SqliteQueueStoreTest, CorruptFile) {
  std::ofstream(file_.path()) << std::string(8192, 'x');
  EXPECT_EQ(store_.Put({Request("a")}).status(),
            absl::DataLossError("the queue file is corrupt"));
  std::filesystem::remove(file_.path());
  EXPECT_TRUE(store_.Put({Request("a")}).ok());
}

TEST_F(SqliteQueueStoreTest, FolderThatIsNotThere) {
  SqliteQueueStore store((file_.folder() / "none" / "q").string());
  EXPECT_EQ(store.Put({Request("a")}).status(),
            absl::PermissionDeniedError("the queue file can't be opened"));
  std::filesystem::create_directory(file_.folder() / "none");
  EXPECT_TRUE(store.Put({Request("a")}).ok());
}

TEST_F(SqliteQueueStoreTest, ReadOnlyFolder) {
  // Whom permissions don't stop (root), a file system does.
  SqliteQueueStore store("/proc/calls.queue");
  EXPECT_EQ(store.Put({Request("a")}).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(SqliteQueueStoreTest, LaterVersion) {
  Put({Request("a")});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file_.path().c_str(), &other), SQLITE_OK);
  sqlite3_exec(other, "PRAGMA user_version = 7", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  SqliteQueueStore store(file_.path());
  EXPECT_EQ(store.Put({Request("b")}).status().message(),
            "the queue file is of version 7, not 1");
}

TEST_F(SqliteQueueStoreTest, FullDisk) {
  const std::string disk = (file_.folder() / "disk").string();
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "no right to mount a small disk";
  }
  {
    SqliteQueueStore store(disk + "/q");
    absl::Status status;
    int put = 0;
    for (int i = 0; i < 1000 && status.ok(); ++i) {
      status = store.Put({Request(std::string(4000, 'x'))}).status();
      if (status.ok()) ++put;
    }
    EXPECT_EQ(status, absl::ResourceExhaustedError("the disk is full"));
    EXPECT_EQ(store.Count()->waiting, put);
  }
  umount(disk.c_str());
}

}  // namespace
}  // namespace grpc_resilience::test

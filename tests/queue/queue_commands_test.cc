#include "tools/queue/queue_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <sstream>
#include <string>

#include "grpc_resilience/sqlite_queue_store.h"
#include "queue/queue_file.h"

namespace grpc_resilience::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class QueueCommandsTest : public testing::Test {
 protected:
  QueueCommandsTest() {
    std::vector<QueuedRequest> requests;
    for (const char* body : {"secret one", "secret two"}) {
      QueuedRequest& request = requests.emplace_back();
      request.target = "payments:443";
      request.method = "/pay.Payments/Charge";
      request.request = body;
      request.metadata = {{"idempotency-key", "k"}};
      request.queued = now_;
      request.expires = now_ + std::chrono::hours(1);
    }
    EXPECT_TRUE(store_.Put(requests).ok());
    const auto leased = store_.Lease("payments:443", "me", now_,
                                     now_ + std::chrono::seconds(1), 1);
    EXPECT_TRUE(*store_.Bury((*leased)[0], "NOT_FOUND: no such account"));
  }

  /// "queue --file FILE" and this.
  absl::Status Run(const std::string& command) {
    CLI::App app;
    absl::Status result = absl::UnknownError("nothing ran");
    out_.str("");
    AddQueueCommands(app, out_, [&](const absl::Status& end) { result = end; });
    try {
      app.parse("queue --file " + file_.path() + " " + command);
    } catch (const CLI::ParseError& error) {
      return absl::InvalidArgumentError(error.what());
    }
    return result;
  }
  std::string out() const { return out_.str(); }

  const WallTime now_ = std::chrono::time_point_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
  test::QueueFile file_;
  SqliteQueueStore store_{file_.path()};
  std::ostringstream out_;
};

TEST_F(QueueCommandsTest, ListShowsNoRequests) {
  EXPECT_TRUE(Run("list").ok());
  EXPECT_THAT(out(),
              AllOf(ContainsRegex("1 +dead .* 1 +payments:443 "
                                  "/pay.Payments/Charge  NOT_FOUND: no such"),
                    ContainsRegex("2 +waiting "),
                    HasSubstr("1 to be delivered, 1 dead\n"),
                    Not(HasSubstr("secret"))));
  EXPECT_TRUE(Run("list --dead").ok());
  EXPECT_THAT(out(), Not(ContainsRegex("2 +waiting ")));
}

TEST_F(QueueCommandsTest, Retry) {
  EXPECT_FALSE(Run("retry").ok());
  EXPECT_EQ(Run("retry 2").message(), "the others are no dead letters");
  EXPECT_TRUE(Run("retry 1").ok());
  EXPECT_EQ(out(), "1 to be delivered again\n");
  EXPECT_TRUE(Run("retry --all").ok());
  EXPECT_EQ(out(), "0 to be delivered again\n");
  EXPECT_EQ(store_.Count()->waiting, 2);
}

TEST_F(QueueCommandsTest, Drop) {
  EXPECT_FALSE(Run("drop").ok());
  EXPECT_FALSE(Run("drop 99").ok());
  EXPECT_TRUE(Run("drop 1 2").ok());
  EXPECT_EQ(out(), "2 dropped\n");
  EXPECT_EQ(store_.Count()->waiting, 0);
}

TEST_F(QueueCommandsTest, Export) {
  EXPECT_TRUE(Run("export").ok());
  EXPECT_THAT(
      out(), AllOf(HasSubstr("\"request\":\"c2VjcmV0IG9uZQ==\""),
                   HasSubstr("\"state\":\"dead\""), HasSubstr("\"id\":\"2\"")));
  EXPECT_TRUE(Run("export --dead").ok());
  EXPECT_THAT(out(), Not(HasSubstr("\"id\":\"2\"")));
}

TEST_F(QueueCommandsTest, FileThatIsNotThere) {
  CLI::App app;
  AddQueueCommands(app, out_, [](const absl::Status&) {});
  EXPECT_THROW(app.parse("queue --file /none list"), CLI::ParseError);
}

}  // namespace
}  // namespace grpc_resilience::tools

// Lines into a pipe that nobody reads.

#include "admin/line_log.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "admin/full_pipe.h"

namespace grpc_resilience::internal {
namespace {

using test::FullPipe;
using testing::AnyOf;

std::string Numbered(int number) { return "line " + std::to_string(number); }

TEST(LineLogTest, AFullPipeCostsLinesNotTime) {
  FullPipe pipe;
  const LineLog log(pipe.writing_end(), 5);
  // One may be at the pipe already, five wait; that Add returns at all is the test.
  for (int i = 1; i <= 20; ++i) log.Add(Numbered(i));
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(pipe.ReadLine(), Numbered(i));
  // Now there is room again, and the next line tells.
  std::string line;
  do {
    log.Add("after");
    line = pipe.ReadLine();
  } while (line == Numbered(6));
  EXPECT_THAT(line, AnyOf("after (15 lines before it were dropped)",
                          "after (14 lines before it were dropped)"));
}

TEST(LineLogTest, LinesThatAreNotWrittenHoldUpNobodysEnd) {
  FullPipe pipe;
  const auto started = std::chrono::steady_clock::now();
  {
    const LineLog log(pipe.writing_end(), 5);
    for (int i = 1; i <= 5; ++i) log.Add(Numbered(i));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started,
            std::chrono::seconds(20));
  // The line that a thread may be stuck in is all that comes later.
  EXPECT_EQ(pipe.ReadLine(), Numbered(1));
}

TEST(LineLogTest, TheEndWaitsForLinesThatAreTaken) {
  FullPipe pipe;
  std::string expected;
  {
    const LineLog log(pipe.writing_end(), 100);
    for (int i = 1; i <= 3; ++i) log.Add(Numbered(i));
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(pipe.ReadLine(), Numbered(i));
    for (int i = 4; i <= 50; ++i) log.Add(Numbered(i));
  }
  // Written before the log was gone: nobody writes any more.
  pipe.CloseWritingEnd();
  for (int i = 4; i <= 50; ++i) EXPECT_EQ(pipe.ReadLine(), Numbered(i));
  EXPECT_EQ(pipe.ReadLine(), "");
}

TEST(LineLogTest, AReaderThatHasGoneEndsNothing) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  {
    const LineLog log(ends[1], 5);
    log.Add("nobody reads this");  // SIGPIPE would end the test
  }
  close(ends[1]);
}

}  // namespace
}  // namespace grpc_resilience::internal

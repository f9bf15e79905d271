// What is sent, kept and sent again, and how writes are answered.

#include "core/stream_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using StreamSessionSendsTest = StreamSessionTest;

// A caller that goes on writing after the end gathers nothing.
TEST_F(StreamSessionSendsTest, WritesThatCantBeSentAreNotKept) {
  Make();
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(true);
  s().OnMessage();
  Next();
  s().OnWrite(1000, false, true);
  Next();
  s().OnWriteDone(false);
  EXPECT_EQ(Next(), "write failed");
  EXPECT_EQ(s().buffer().begin(), s().buffer().end());
  EndAttempt();
  s().OnFinish(false);
  Next();
  for (int i = 0; i < 3; ++i) {
    s().OnWrite(1000, false, true);
    EXPECT_EQ(Next(), "write failed");
    EXPECT_EQ(s().buffer().begin(), s().buffer().end());
  }
  EXPECT_EQ(budget_.used(), 0);
}

// What was written before and while an attempt failed is sent again, in order, and a
// write is answered by the attempt that takes it.
TEST_F(StreamSessionSendsTest, EverythingIsSentAgain) {
  Make();
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start; receive");
  s().OnHeaders(true);
  s().OnWriteDone(true);
  s().OnWrite(10, false, true);
  EXPECT_EQ(Next(), "send 0");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "write ok");
  s().OnWrite(10, false, true);
  EXPECT_EQ(Next(), "send 1");
  s().OnWriteDone(false);
  EXPECT_EQ(Next(), "");  // held: the status decides
  EXPECT_EQ(EndAttempt(), "settled");
  EXPECT_EQ(s().no_retry(), std::nullopt);
  s().OnRetry();
  EXPECT_EQ(Next(), "");
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start 0; receive");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "send 1");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "write ok");
  s().OnHalfClose(true);
  EXPECT_EQ(Next(), "send close");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "close");
}

TEST_F(StreamSessionSendsTest, AKnownHalfCloseGoesWithTheLastMessage) {
  Make();
  s().OnWrite(1, false, false);
  s().OnWrite(1, true, false);
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start 0; receive");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "send 1 close");
}

// The message commits when it arrives: the caller may be in a write that the server
// never takes.
TEST_F(StreamSessionSendsTest, AnUnreadMessageLetsAFailedWriteFail) {
  Make();
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(true);
  s().OnMessage();
  EXPECT_EQ(Next(), "committed");
  s().OnWrite(1, false, true);
  EXPECT_EQ(Next(), "send 0");
  s().OnWriteDone(false);
  EXPECT_EQ(Next(), "write failed");
  EXPECT_EQ(s().no_retry(), StopReason::kCommitted);
}

TEST_F(StreamSessionSendsTest, OverflowInAnAttemptEndsRetrying) {
  settings_.replay.stream = 2 * kReplayBytesPerMessage + 10;
  Make();
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnWrite(5, false, true);
  Next();
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "write ok");
  EXPECT_EQ(budget_.used(), kReplayBytesPerMessage + 5);
  s().OnWrite(500, false, true);
  EXPECT_EQ(Next(), "send 1; overflowed");
  EXPECT_EQ(s().no_retry(), StopReason::kReplayBufferFull);
  EXPECT_EQ(budget_.used(), 0);  // the first can't be sent again either
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "write ok");
}

// Between attempts everything is still needed once.
TEST_F(StreamSessionSendsTest, OverflowBetweenAttemptsMakesTheNextTheLast) {
  settings_.replay.stream = kReplayBytesPerMessage + 10;
  Make();
  s().OnWrite(5, false, false);
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(false);
  EXPECT_EQ(EndAttempt(), "settled");
  // While the adapter decides, and after.
  s().OnWrite(500, false, true);
  EXPECT_EQ(Next(), "overflowed");
  s().OnRetry();
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(s().buffer().begin(), 0u);
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start 0; receive");
  s().OnWriteDone(true);
  EXPECT_EQ(Next(), "send 1");
  EXPECT_EQ(s().no_retry(), StopReason::kReplayBufferFull);
}

TEST_F(StreamSessionSendsTest, WriteBehindIsBounded) {
  settings_.write_behind_bytes = 25;
  Make();
  s().OnAttemptStart();
  Next();
  s().OnWrite(10, false, true);
  EXPECT_EQ(Next(), "write ok");  // 10 wait
  s().OnWrite(10, false, true);
  EXPECT_EQ(Next(), "write ok");  // 20
  s().OnWrite(10, false, true);
  EXPECT_EQ(Next(), "");  // 30
  s().OnWriteDone(true);  // the start
  EXPECT_EQ(Next(), "send 0");
  s().OnWriteDone(true);  // 20
  EXPECT_EQ(Next(), "send 1; write ok");
  s().OnHalfClose(true);
  EXPECT_EQ(Next(), "close");
}

// S15. Two writes at once are refused, and the first one isn't lost.
TEST_F(StreamSessionSendsTest, ASecondHeldWriteIsRefused) {
  Make();
  EXPECT_TRUE(s().OnWrite(1, false, true));
  EXPECT_FALSE(s().OnWrite(1, false, true));
  EXPECT_EQ(s().buffer().end(), 1u);
}

}  // namespace
}  // namespace grpc_resilience::internal

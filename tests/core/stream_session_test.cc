#include "core/stream_session.h"

#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience::internal {
namespace {

// "send start 0 close; receive; write ok" and so on: everything that a step says.
std::string Text(const StreamStep& step) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += text.empty() ? part : "; " + part;
  };
  if (step.send) {
    std::string send = "send";
    if (step.send->start) send += " start";
    if (step.send->message) send += " " + std::to_string(*step.send->message);
    if (step.send->close) send += " close";
    add(send);
  }
  if (step.receive) add("receive");
  if (step.start_grace) add("grace");
  if (step.settled) add("settled");
  if (step.write) add(*step.write ? "write ok" : "write failed");
  if (step.close) add("close");
  if (step.headers) add("headers");
  if (step.read == StreamStep::Read::kMessage) add("read message");
  if (step.read == StreamStep::Read::kEnd) add("read end");
  if (step.finish) add("finish");
  if (step.committed) add("committed");
  if (step.overflowed) add("overflowed");
  return text;
}

class StreamSessionTest : public testing::Test {
 protected:
  StreamSessionTest() { settings_.replay = {1 << 20, 1 << 20}; }
  void Make() { session_.emplace(settings_, &budget_); }
  std::string Next() { return Text(session_->Next()); }
  StreamSession& s() { return *session_; }
  /// The attempt's end: the status is known and nothing more comes.
  std::string EndAttempt() {
    s().OnStatus();
    s().OnEndOfMessages();
    return Next();
  }

  ReplayBudget budget_;
  StreamSession::Settings settings_;
  std::optional<StreamSession> session_;
};

// One server stream by a sync caller.
TEST_F(StreamSessionTest, ServerStream) {
  Make();
  s().OnWrite(10, /*last=*/true, /*held=*/false);
  EXPECT_EQ(Next(), "");  // nothing before the attempt
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start 0 close; receive");
  s().OnReadWanted(/*with_headers=*/true);
  EXPECT_EQ(Next(), "");
  s().OnWriteDone(true);
  s().OnMessage();
  EXPECT_EQ(Next(), "committed");  // not without the headers
  s().OnHeaders(true);
  // Read; the queue is empty again by then.
  EXPECT_EQ(Next(), "read message");
  EXPECT_EQ(Next(), "receive");
  s().OnReadWanted(false);
  s().OnEndOfMessages();
  EXPECT_EQ(Next(), "read end");
  s().OnFinishWanted();
  s().OnStatus();
  EXPECT_EQ(Next(), "settled");
  s().OnFinish(true);
  EXPECT_EQ(Next(), "finish");
  EXPECT_EQ(budget_.used(), 0);
}

// The headers' own report may come after the message that a caller wants with them;
// a cancellation takes the message away, not the wait for the headers.
TEST_F(StreamSessionTest, ACancelledFirstReadWaitsForTheHeaders) {
  Make();
  s().OnWrite(10, /*last=*/true, /*held=*/false);
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnReadWanted(/*with_headers=*/true);
  s().OnMessage();
  s().OnCancel();
  s().OnEndOfMessages();
  EXPECT_EQ(Next(), "committed");
  s().OnHeaders(true);
  EXPECT_EQ(Next(), "read end");
}

// A caller that goes on writing after the end gathers nothing.
TEST_F(StreamSessionTest, WritesThatCantBeSentAreNotKept) {
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
TEST_F(StreamSessionTest, EverythingIsSentAgain) {
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

TEST_F(StreamSessionTest, AKnownHalfCloseGoesWithTheLastMessage) {
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
TEST_F(StreamSessionTest, AnUnreadMessageLetsAFailedWriteFail) {
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

TEST_F(StreamSessionTest, GraceBeforeHeadersCommit) {
  Make();
  s().OnHeadersWanted(/*at_once=*/true);
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(true);
  EXPECT_EQ(Next(), "grace");
  EXPECT_EQ(Next(), "");
  // The failure comes within the grace.
  EXPECT_EQ(EndAttempt(), "settled");
  EXPECT_EQ(s().no_retry(), std::nullopt);
  s().OnRetry();
  s().OnGraceOver();  // of the attempt before: too late to matter
  EXPECT_EQ(Next(), "");
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(true);
  EXPECT_EQ(Next(), "grace");
  s().OnGraceOver();
  EXPECT_EQ(Next(), "headers; committed");
  EXPECT_EQ(s().no_retry(), StopReason::kCommitted);
}

TEST_F(StreamSessionTest, WithoutGraceHeadersCommitAtOnce) {
  settings_.has_grace = false;
  Make();
  s().OnHeadersWanted(true);
  s().OnAttemptStart();
  Next();
  s().OnWriteDone(true);
  s().OnHeaders(/*real=*/false);  // a status without headers
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(EndAttempt(), "settled");
  s().OnRetry();
  s().OnAttemptStart();
  Next();
  s().OnHeaders(true);
  EXPECT_EQ(Next(), "headers; committed");
}

TEST_F(StreamSessionTest, OverflowInAnAttemptEndsRetrying) {
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
TEST_F(StreamSessionTest, OverflowBetweenAttemptsMakesTheNextTheLast) {
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

TEST_F(StreamSessionTest, WriteBehindIsBounded) {
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

TEST_F(StreamSessionTest, ReadAheadIsBounded) {
  settings_.read_ahead_messages = 2;
  Make();
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start; receive");
  s().OnHeaders(true);
  s().OnWriteDone(true);
  s().OnMessage();
  EXPECT_EQ(Next(), "receive; committed");
  s().OnMessage();
  EXPECT_EQ(Next(), "");  // two wait
  s().OnReadWanted(false);
  EXPECT_EQ(Next(), "read message");
  EXPECT_EQ(Next(), "receive");
}

// S9. After the status, what is left is read without being asked for.
TEST_F(StreamSessionTest, FinishWithoutReadingEndsTheAttempt) {
  Make();
  s().OnAttemptStart();
  Next();
  s().OnHeaders(true);
  s().OnWriteDone(true);
  s().OnMessage();
  EXPECT_EQ(Next(), "committed");
  s().OnFinishWanted();
  s().OnStatus();
  EXPECT_EQ(Next(), "receive");
  s().OnMessage();
  EXPECT_EQ(Next(), "receive");
  s().OnEndOfMessages();
  EXPECT_EQ(Next(), "settled");
  s().OnFinish(true);
  EXPECT_EQ(Next(), "finish");
}

// A reactor may be deleted in OnDone, so its messages come first.
TEST_F(StreamSessionTest, AReactorReadsBeforeItHearsOfTheEnd) {
  for (const char* hurry : {"", "deadline", "cancel", "status"}) {
    Make();
    s().OnHeadersWanted(/*at_once=*/true);
    s().OnFinishWanted();
    s().OnAttemptStart();
    Next();
    s().OnHeaders(true);
    s().OnWriteDone(true);
    s().OnMessage();
    EXPECT_EQ(Next(), "headers; committed");
    s().OnStatus();
    EXPECT_EQ(Next(), "receive");
    s().OnEndOfMessages();
    EXPECT_EQ(Next(), "settled");
    if (std::string(hurry) == "status") {
      s().OnFinish(false);
      EXPECT_EQ(Next(), "finish");
      s().OnReadWanted(false);  // under a hold of the application's
      EXPECT_EQ(Next(), "read message");
      continue;
    }
    s().OnFinish(true);
    EXPECT_EQ(Next(), "");
    EXPECT_TRUE(s().finish_waits_for_reader());
    if (std::string(hurry) == "deadline") {
      s().OnDeadline();
      EXPECT_EQ(Next(), "finish");
    } else if (std::string(hurry) == "cancel") {
      s().OnCancel();
      EXPECT_EQ(Next(), "finish");
    } else {
      s().OnReadWanted(false);
      EXPECT_EQ(Next(), "read message; finish");
    }
  }
}

// S16. As gRPC does, what wasn't read yet is gone.
TEST_F(StreamSessionTest, CancellingForgetsUnreadMessages) {
  Make();
  s().OnAttemptStart();
  Next();
  s().OnHeaders(true);
  s().OnWriteDone(true);
  s().OnMessage();
  Next();
  s().OnCancel();
  EXPECT_EQ(s().queued(), 0u);
  EXPECT_EQ(Next(), "receive");
  EXPECT_FALSE(s().OnMessage());
  EXPECT_EQ(Next(), "receive");
  s().OnReadWanted(false);
  s().OnEndOfMessages();
  EXPECT_EQ(Next(), "read end");
}

// S15. Two writes at once are refused, and the first one isn't lost.
TEST_F(StreamSessionTest, ASecondHeldWriteIsRefused) {
  Make();
  EXPECT_TRUE(s().OnWrite(1, false, true));
  EXPECT_FALSE(s().OnWrite(1, false, true));
  EXPECT_EQ(s().buffer().end(), 1u);
}

// The only message of a client stream commits nothing: it is seen with the status.
TEST_F(StreamSessionTest, UnaryResponse) {
  settings_.unary_response = true;
  Make();
  s().OnFinishWanted();
  s().OnWrite(1, true, false);
  s().OnAttemptStart();
  EXPECT_EQ(Next(), "send start 0 close; receive");
  s().OnWriteDone(true);
  s().OnHeaders(true);
  s().OnMessage();
  EXPECT_EQ(Next(), "receive");
  s().OnStatus();
  s().OnEndOfMessages();
  EXPECT_EQ(Next(), "settled");
  EXPECT_EQ(s().no_retry(), std::nullopt);
  s().OnFinish(true);
  EXPECT_EQ(Next(), "finish");
}

// A rejected or cancelled stream: everything held and to come is answered at once.
TEST_F(StreamSessionTest, FinishedBeforeTheFirstAttempt) {
  Make();
  s().OnHeadersWanted(true);
  s().OnWrite(1, false, true);
  s().OnReadWanted(false);
  s().OnFinish(false);
  EXPECT_EQ(Next(), "write failed; headers; read end");
  s().OnWrite(1, false, true);
  EXPECT_EQ(Next(), "write failed");
  s().OnHalfClose(true);
  EXPECT_EQ(Next(), "close");
  s().OnFinishWanted();
  EXPECT_EQ(Next(), "finish");
  EXPECT_EQ(budget_.used(), 0);
}

TEST_F(StreamSessionTest, AnAbandonedStreamAnswersNothing) {
  Make();
  s().OnAttemptStart();
  Next();
  s().OnWrite(1, false, true);
  s().OnReadWanted(false);
  s().OnFinishWanted();
  s().OnAbandoned();
  s().OnWriteDone(false);
  s().OnHeaders(false);
  EXPECT_EQ(EndAttempt(), "settled");
  s().OnFinish(false);
  EXPECT_EQ(Next(), "");
}

}  // namespace
}  // namespace grpc_resilience::internal

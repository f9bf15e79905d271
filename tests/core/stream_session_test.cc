#include "core/stream_session.h"

#include "core/stream_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

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

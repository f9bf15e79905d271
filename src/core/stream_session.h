// The life of one relayed stream as a state machine without I/O: what the caller
// asks for and what the attempt on the wire reports go in, what to do next comes
// out. CallSession decides whether there is another attempt; here it is decided
// what is sent, received, kept, and answered, and when.
//
//   idle ──OnAttemptStart──▶ attempt ──settled──▶ deciding ──OnFinish──▶ finished
//                              ▲                     │
//                              └──OnAttemptStart── waiting ◀──OnRetry
//
// After every event the adapter asks Next() once, under the same lock, and then
// does what it says without the lock. What Next() orders counts as under way from
// then on.
//
// A stream is committed when its caller sees something of the attempt; then nothing
// is sent again. A first message commits when it arrives, not when it is read: a
// caller that writes until it can't, and only then reads, would wait for ever.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/replay_buffer.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience::internal {

/// What to do now.
struct StreamStep {
  struct Send {
    bool start =
        false;  ///< initial metadata, and ask for the answer's and status
    std::optional<std::size_t> message;  ///< its number
    bool close = false;
  };
  enum class Read { kNone, kMessage, kEnd };

  // With the attempt:
  std::optional<Send> send;
  bool receive = false;
  bool start_grace = false;  ///< OnGraceOver after the grace time
  /// The attempt is over and nothing of it under way: OnRetry or OnFinish.
  bool settled = false;

  // With the caller's held passes:
  std::optional<bool> write;  ///< it succeeds or fails
  bool close = false;
  bool headers = false;
  Read read = Read::kNone;  ///< the first message in the queue, or no more come
  bool finish = false;

  // For who watches, each once:
  bool committed = false;
  bool overflowed = false;
};

/// Not safe for use from several threads at once.
class StreamSession {
 public:
  struct Settings {
    ReplayBuffer::Limits replay;
    std::int64_t write_behind_bytes = 0;
    int read_ahead_messages = 1;
    bool has_grace = true;
    /// The only response belongs to the status (client streaming).
    bool unary_response = false;
  };
  StreamSession(const Settings& settings, ReplayBudget* budget)
      : settings_(settings), buffer_(settings.replay, budget) {}

  // What the caller asks for. `held`: a pass waits for the answer.

  /// False: there is a write already, and this one isn't taken.
  bool OnWrite(std::int64_t bytes, bool last, bool held);
  void OnHalfClose(bool held);
  /// Waits for initial metadata alone. `at_once`: as reactors do, which mustn't be
  /// told of the end while messages wait.
  void OnHeadersWanted(bool at_once);
  void OnReadWanted(bool with_headers);
  void OnFinishWanted();
  /// What waits to be read is forgotten, as gRPC does.
  void OnCancel();
  /// The call's time is over: nothing is waited for any more.
  void OnDeadline() { hurry_ = true; }
  /// Nobody waits for anything any more.
  void OnAbandoned();

  // What happens to the attempt.

  void OnAttemptStart();
  void OnWriteDone(bool ok);
  /// `real`: there is something that the server sent.
  void OnHeaders(bool real);
  void OnGraceOver();
  /// False: the message isn't wanted.
  bool OnMessage();
  void OnEndOfMessages();
  void OnStatus();

  // After `settled`, or before the first attempt:

  /// There will be another attempt.
  void OnRetry();
  /// The status is known. One that isn't OK waits for no reader.
  void OnFinish(bool ok);

  StreamStep Next();

  /// Why nothing can be sent again; empty: it can.
  std::optional<StopReason> no_retry() const;
  bool committed() const { return committed_; }
  bool idle() const { return phase_ == Phase::kIdle; }
  bool in_attempt() const { return phase_ == Phase::kAttempt; }
  bool finished() const { return phase_ == Phase::kFinished; }
  /// Messages that wait to be read.
  std::size_t queued() const { return queued_; }
  /// The caller was told no end yet because messages wait to be read.
  bool finish_waits_for_reader() const {
    return finished() && finish_wanted_ && queued_ > 0;
  }
  const ReplayBuffer& buffer() const { return buffer_; }

 private:
  enum class Phase { kIdle, kAttempt, kDeciding, kWaiting, kFinished };

  void Commit();
  void PlanSend(StreamStep* step);
  void PlanReceive(StreamStep* step);
  void AnswerSends(StreamStep* step);
  void AnswerReceives(StreamStep* step);
  bool WriteFits() const;
  bool SendsAreLost() const;

  const Settings settings_;
  ReplayBuffer buffer_;
  Phase phase_ = Phase::kIdle;

  // The caller.
  std::optional<std::size_t> write_;  // the message whose write is held
  bool half_closed_ = false;
  bool close_wanted_ = false;
  bool headers_wanted_ = false;
  bool headers_at_once_ = false;
  bool read_wanted_ = false;
  bool read_with_headers_ = false;
  bool finish_wanted_ = false;
  bool cancelled_ = false;
  bool hurry_ = false;
  std::size_t queued_ = 0;

  // The attempt.
  bool started_ = false;
  std::size_t next_ = 0;   // message to send
  std::size_t taken_ = 0;  // messages that gRPC has taken
  std::int64_t taken_bytes_ = 0;
  bool write_in_flight_ = false;
  bool write_failed_ = false;
  bool close_sent_ = false;
  bool close_done_ = false;
  bool headers_known_ = false;
  bool headers_real_ = false;
  bool grace_started_ = false;
  bool read_in_flight_ = false;
  bool no_more_messages_ = false;
  bool status_known_ = false;

  bool committed_ = false;
  bool told_committed_ = false;
  bool told_overflow_ = false;
};

}  // namespace grpc_resilience::internal

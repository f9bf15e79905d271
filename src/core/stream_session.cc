#include "core/stream_session.h"

namespace grpc_resilience::internal {

bool StreamSession::OnWrite(std::int64_t bytes, bool last, bool held) {
  if (held && write_) return false;
  if (held) write_ = buffer_.end();
  buffer_.Add(bytes);
  if (last) half_closed_ = true;
  return true;
}

void StreamSession::OnHalfClose(bool held) {
  half_closed_ = true;
  if (held) close_wanted_ = true;
}

void StreamSession::OnHeadersWanted(bool at_once) {
  headers_wanted_ = true;
  headers_at_once_ = headers_at_once_ || at_once;
}

void StreamSession::OnReadWanted(bool with_headers) {
  read_wanted_ = true;
  read_with_headers_ = with_headers;
}

void StreamSession::OnFinishWanted() { finish_wanted_ = true; }

void StreamSession::OnCancel() {
  cancelled_ = true;
  hurry_ = true;
  if (!settings_.unary_response) queued_ = 0;
}

void StreamSession::OnAbandoned() {
  OnCancel();
  write_.reset();
  close_wanted_ = headers_wanted_ = read_wanted_ = finish_wanted_ = false;
}

void StreamSession::OnAttemptStart() {
  phase_ = Phase::kAttempt;
  started_ = false;
  next_ = taken_ = 0;
  taken_bytes_ = 0;
  write_in_flight_ = write_failed_ = false;
  close_sent_ = close_done_ = false;
  headers_known_ = headers_real_ = grace_started_ = false;
  read_in_flight_ = no_more_messages_ = status_known_ = false;
}

void StreamSession::OnWriteDone(bool ok) {
  write_in_flight_ = false;
  if (!ok) {
    write_failed_ = true;
    return;
  }
  for (; taken_ < next_; ++taken_) {
    if (taken_ >= buffer_.begin()) taken_bytes_ += buffer_.BytesOf(taken_);
  }
  close_done_ = close_sent_;
}

void StreamSession::OnHeaders(bool real) {
  headers_known_ = true;
  headers_real_ = real;
}

void StreamSession::OnGraceOver() {
  if (phase_ == Phase::kAttempt && headers_wanted_ && !status_known_) Commit();
}

bool StreamSession::OnMessage() {
  read_in_flight_ = false;
  if (settings_.unary_response) {
    queued_ = 1;
    return true;
  }
  Commit();
  if (cancelled_) return false;
  ++queued_;
  return true;
}

void StreamSession::OnEndOfMessages() {
  read_in_flight_ = false;
  no_more_messages_ = true;
}

void StreamSession::OnStatus() { status_known_ = true; }

void StreamSession::OnRetry() {
  phase_ = Phase::kWaiting;
  // Nothing of it is with gRPC any more.
  next_ = taken_ = 0;
  taken_bytes_ = 0;
  queued_ = 0;
}

void StreamSession::OnFinish(bool ok) {
  phase_ = Phase::kFinished;
  if (!ok) hurry_ = true;
  buffer_.StopKeeping();
  buffer_.DropBelow(buffer_.end());
}

void StreamSession::Commit() {
  committed_ = true;
  buffer_.StopKeeping();
}

std::optional<StopReason> StreamSession::no_retry() const {
  if (committed_) return StopReason::kCommitted;
  if (buffer_.overflow() != ReplayBuffer::Overflow::kNone) {
    return StopReason::kReplayBufferFull;
  }
  return std::nullopt;
}

StreamStep StreamSession::Next() {
  StreamStep step;
  if (phase_ == Phase::kAttempt) {
    PlanSend(&step);
    PlanReceive(&step);
    if (started_ && status_known_ && headers_known_ && no_more_messages_ &&
        !write_in_flight_ && !read_in_flight_) {
      phase_ = Phase::kDeciding;
      step.settled = true;
    }
  }
  AnswerSends(&step);
  AnswerReceives(&step);
  // What is written now can't be sent any more.
  if (SendsAreLost()) buffer_.DropBelow(buffer_.end());
  if (committed_ && !told_committed_) step.committed = told_committed_ = true;
  if (buffer_.overflow() != ReplayBuffer::Overflow::kNone && !told_overflow_) {
    step.overflowed = told_overflow_ = true;
  }
  // Between attempts all of it is still to be sent.
  if (!buffer_.keeping() && phase_ == Phase::kAttempt) {
    buffer_.DropBelow(taken_);
  }
  return step;
}

void StreamSession::PlanSend(StreamStep* step) {
  if (write_in_flight_ || write_failed_ || status_known_) return;
  StreamStep::Send send;
  send.start = !started_;
  if (next_ < buffer_.end()) send.message = next_++;
  if (half_closed_ && !close_sent_ && next_ == buffer_.end()) {
    send.close = close_sent_ = true;
  }
  if (!send.start && !send.message && !send.close) return;
  started_ = write_in_flight_ = true;
  step->send = send;
}

void StreamSession::PlanReceive(StreamStep* step) {
  if (started_ && headers_real_ && headers_wanted_ && !committed_ &&
      !status_known_) {
    if (!settings_.has_grace) {
      Commit();
    } else if (!grace_started_) {
      step->start_grace = grace_started_ = true;
    }
  }
  if (!started_ || read_in_flight_ || no_more_messages_) return;
  // After the status only what is left is read, and its end.
  if (settings_.unary_response || status_known_ || cancelled_ ||
      queued_ < static_cast<std::size_t>(settings_.read_ahead_messages)) {
    step->receive = read_in_flight_ = true;
  }
}

bool StreamSession::WriteFits() const {
  return settings_.write_behind_bytes > 0 &&
         buffer_.total_bytes() - taken_bytes_ <= settings_.write_behind_bytes;
}

bool StreamSession::SendsAreLost() const {
  return phase_ == Phase::kFinished || (committed_ && write_failed_);
}

void StreamSession::AnswerSends(StreamStep* step) {
  const bool lost = SendsAreLost();
  if (write_) {
    if (taken_ > *write_ || (!lost && WriteFits())) {
      step->write = true;
    } else if (lost) {
      step->write = false;
    }
    if (step->write) write_.reset();
  }
  // gRPC gives no way to fail it.
  if (close_wanted_ &&
      (close_done_ || lost || settings_.write_behind_bytes > 0)) {
    step->close = true;
    close_wanted_ = false;
  }
}

void StreamSession::AnswerReceives(StreamStep* step) {
  const bool over = phase_ == Phase::kFinished;
  if (headers_wanted_ && (over || (committed_ && headers_known_))) {
    step->headers = true;
    headers_wanted_ = false;
  }
  if (read_wanted_ && !settings_.unary_response) {
    if (queued_ > 0 && (over || !read_with_headers_ || headers_known_)) {
      step->read = StreamStep::Read::kMessage;
      --queued_;
    } else if (queued_ == 0 &&
               (over || (committed_ && no_more_messages_ &&
                         (!read_with_headers_ || headers_known_)))) {
      step->read = StreamStep::Read::kEnd;
    }
    if (step->read != StreamStep::Read::kNone) read_wanted_ = false;
  }
  // As with gRPC, a reactor hears of a good end only after the last message.
  const bool reader_first =
      headers_at_once_ && !settings_.unary_response && queued_ > 0 && !hurry_;
  if (finish_wanted_ && over && !reader_first) {
    step->finish = true;
    finish_wanted_ = false;
  }
}

}  // namespace grpc_resilience::internal

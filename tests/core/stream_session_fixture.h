// What the tests of StreamSession share.

#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/stream_session.h"

namespace grpc_resilience::internal {

/// "send start 0 close; receive; write ok" and so on: everything that a step says.
inline std::string Text(const StreamStep& step) {
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

}  // namespace grpc_resilience::internal

// How answers and errors are shown, and what they make of the exit status.

#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <string>

#include "tools/resiliencectl/options.h"

namespace grpc_resilience::tools {

ExitCode ExitCodeOf(const grpc::Status& status);

/// The exit status of all processes: the worst, but a breaker that isn't there is
/// fine where another process has it. Not safe for use from several threads at once.
class Report {
 public:
  explicit Report(const Options& options) : json_(options.json) {}

  /// Errors are told on stderr, with --json on stdout as well; true: it was OK.
  bool Check(const std::string& address, const grpc::Status& status);
  /// {"address": …, "result": …} in one line.
  void Json(const std::string& address,
            const google::protobuf::Message& result) const;

  /// No process had it; what NOT_FOUND said.
  bool nowhere() const { return !found_ && !not_found_.empty(); }
  /// The last word, with NOT_FOUND if nobody had it.
  ExitCode Finish() const;

 private:
  const bool json_;
  bool found_ = false;
  std::string not_found_;
  ExitCode worst_ = kOk;
};

/// As one line.
std::string JsonOf(const google::protobuf::Message& message);

}  // namespace grpc_resilience::tools

// What the command line says.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::tools {

namespace pb = admin::v1;

/// The exit status.
enum ExitCode {
  kOk = 0,
  kNotFound = 1,    ///< no process has that breaker
  kUsage = 2,       ///< wrong arguments, here or by the word of a process
  kNoAnswer = 3,    ///< a process can't be reached or takes too long
  kNotAllowed = 4,  ///< a process doesn't know the caller, or what it may do
  kFailed = 5,      ///< anything else
};

struct Options {
  std::vector<std::string> addresses;
  std::string token_file;
  bool tls = false;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string server_name;
  Duration timeout = std::chrono::seconds(5);
  bool json = false;
  std::string color = "auto";

  // Which breakers.
  pb::BreakerKey key;
  pb::BreakerFilter filter;

  // What to do with them.
  pb::Mode mode = pb::MODE_UNSPECIFIED;
  Duration length{0};  ///< 0: not given
  std::string reason;
  std::int32_t capacity = 0;
  bool stop = false;
};

}  // namespace grpc_resilience::tools

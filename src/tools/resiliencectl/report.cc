#include "tools/resiliencectl/report.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iostream>

#include "grpc_resilience/outcome.h"

namespace grpc_resilience::tools {
namespace {

std::string Quoted(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return JsonOf(value);
}

const char* MeaningOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
      return "not reachable";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "no answer in time";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "not allowed: the caller is unknown there";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "not allowed";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "no admin service there";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "not accepted";
    default:
      return "failed";
  }
}

}  // namespace

ExitCode ExitCodeOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return kOk;
    case grpc::StatusCode::NOT_FOUND:
      return kNotFound;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return kUsage;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return kNoAnswer;
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return kNotAllowed;
    default:
      return kFailed;
  }
}

std::string JsonOf(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!MessageToJsonString(message, &json, options).ok()) return "null";
  return json;
}

bool Report::Check(const std::string& address, const grpc::Status& status) {
  if (status.ok()) {
    found_ = true;
    return true;
  }
  if (json_) {
    std::cout << "{\"address\":" << Quoted(address) << ",\"error\":{\"code\":\""
              << StatusCodeName(status.error_code())
              << "\",\"message\":" << Quoted(status.error_message()) << "}}"
              << std::endl;
  }
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    not_found_ = status.error_message();
    return false;
  }
  std::cerr << "resiliencectl: " << address << ": "
            << MeaningOf(status.error_code()) << ": " << status.error_message()
            << "\n";
  worst_ = std::max(worst_, ExitCodeOf(status));
  return false;
}

void Report::Json(const std::string& address,
                  const google::protobuf::Message& result) const {
  std::cout << "{\"address\":" << Quoted(address)
            << ",\"result\":" << JsonOf(result) << "}" << std::endl;
}

ExitCode Report::Finish() const {
  if (!nowhere()) return worst_;
  std::cerr << "resiliencectl: " << not_found_ << "\n";
  return std::max(worst_, kNotFound);
}

}  // namespace grpc_resilience::tools

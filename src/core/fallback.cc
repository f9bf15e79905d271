#include "grpc_resilience/fallback.h"

namespace grpc_resilience {

FallbackAnswer FallbackAnswer::Declined(std::string why) {
  FallbackAnswer answer;
  answer.message = std::move(why);
  return answer;
}

FallbackAnswer FallbackAnswer::Response(std::string bytes, std::string type,
                                        std::string note) {
  FallbackAnswer answer;
  answer.kind = Kind::kResponse;
  answer.response = std::move(bytes);
  answer.type = std::move(type);
  answer.note = std::move(note);
  return answer;
}

FallbackAnswer FallbackAnswer::Status(StatusCode code, std::string message,
                                      std::string details) {
  FallbackAnswer answer;
  answer.kind = Kind::kStatus;
  answer.code = code;
  answer.message = std::move(message);
  answer.details = std::move(details);
  return answer;
}

}  // namespace grpc_resilience

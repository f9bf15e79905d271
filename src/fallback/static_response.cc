#include "grpc_resilience/static_response.h"

#include <string>
#include <utility>

namespace grpc_resilience {
namespace {

class StaticSource final : public FallbackSource {
 public:
  StaticSource(std::string type, std::string bytes)
      : type_(std::move(type)), bytes_(std::move(bytes)) {}

  std::string_view kind() const override { return "static_response"; }

  void Start(const std::shared_ptr<const FailedCall>& /*call*/,
             FallbackReply reply) override {
    reply.Answer(FallbackAnswer::Response(bytes_, type_));
  }

 private:
  const std::string type_;
  const std::string bytes_;
};

}  // namespace

std::shared_ptr<FallbackSource> StaticResponse(
    const google::protobuf::MessageLite& response) {
  return std::make_shared<StaticSource>(response.GetTypeName(),
                                        response.SerializePartialAsString());
}

}  // namespace grpc_resilience

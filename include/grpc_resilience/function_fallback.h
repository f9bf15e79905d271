// A fallback that is a function of yours.
//
//   config.Method("/shop.Shipping/GetPrice").fallbacks = {
//       Fallback<PriceRequest, Price>(
//           [](const PriceRequest& request,
//              const FailedCall& call) -> FallbackResult<Price> {
//             if (request.country() != "NL") return Decline();
//             if (call.attempts == 0) return grpc::Status(…);  // or a status
//             Price price;
//             price.set_cents(490);
//             return price;
//           })};

#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "grpc_resilience/fallback.h"

namespace grpc_resilience {

/// The next source is asked. `why` is shown to the caller. A value type.
struct Decline {
  std::string why;
};

/// A response, a status for the caller (not OK), or Decline.
template <typename Response>
using FallbackResult = std::variant<Decline, Response, grpc::Status>;

/// Where a function runs.
enum class FallbackThread {
  /// On one of at most four threads of the library's own for all functions of the
  /// process, started by the first call that needs one. A function may block; when
  /// all four do, further calls get their original status in time.
  kOwn,
  /// On the thread that ended the call, often one of gRPC's: at once, also at a
  /// deadline that has passed. The function must not block.
  kInline,
};

/// A value type.
struct FunctionOptions {
  FallbackThread thread = FallbackThread::kOwn;
  /// Of the caller's metadata, shown in FailedCall::metadata.
  std::vector<std::string> metadata_keys;
};

namespace internal {

using UntypedFunction = std::function<FallbackAnswer(const FailedCall&)>;
std::shared_ptr<FallbackSource> MakeFunctionSource(UntypedFunction function,
                                                   FunctionOptions options);

inline FallbackAnswer ToAnswer(const Decline& decline) {
  return FallbackAnswer::Declined(decline.why);
}
inline FallbackAnswer ToAnswer(const grpc::Status& status) {
  return FallbackAnswer::Status(status.error_code(), status.error_message(),
                                status.error_details());
}
inline FallbackAnswer ToAnswer(const google::protobuf::MessageLite& response) {
  return FallbackAnswer::Response(response.SerializePartialAsString(),
                                  response.GetTypeName());
}

}  // namespace internal

/// Kind "function". The function is called from several threads at once; what it
/// throws is a refusal. It must be one of a method whose request is a Request.
template <typename Request, typename Response>
std::shared_ptr<FallbackSource> Fallback(
    std::function<FallbackResult<Response>(const Request&, const FailedCall&)>
        function,
    const FunctionOptions& options = {}) {
  return internal::MakeFunctionSource(
      [function = std::move(function)](const FailedCall& call) {
        Request request;
        if (!request.ParseFromString(call.request)) {
          return FallbackAnswer::Declined("the request is no " +
                                          request.GetTypeName());
        }
        return std::visit(
            [](const auto& result) { return internal::ToAnswer(result); },
            function(request, call));
      },
      options);
}

}  // namespace grpc_resilience

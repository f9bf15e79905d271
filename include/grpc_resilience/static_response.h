// A fallback that always answers the same.
//
//   Price flat_rate;
//   flat_rate.set_cents(490);
//   config.Method("/shop.Shipping/GetPrice").fallbacks = {StaticResponse(flat_rate)};

#pragma once

#include <google/protobuf/message_lite.h>

#include <memory>

#include "grpc_resilience/fallback.h"

namespace grpc_resilience {

/// Kind "static_response". `response` must be of the method's response type: one of
/// another type is refused at the first call that needs it. Answers at once.
std::shared_ptr<FallbackSource> StaticResponse(
    const google::protobuf::MessageLite& response);

}  // namespace grpc_resilience

#include "queue/delivery.h"

#include <gtest/gtest.h>

#include <set>

namespace grpc_resilience::internal {
namespace {

using grpc::StatusCode;

TEST(JudgeDeliveryTest, EveryCode) {
  const std::set<int> again = {
      StatusCode::CANCELLED,      StatusCode::UNKNOWN,
      StatusCode::ABORTED,        StatusCode::DEADLINE_EXCEEDED,
      StatusCode::INTERNAL,       StatusCode::RESOURCE_EXHAUSTED,
      StatusCode::UNAVAILABLE,    StatusCode::DATA_LOSS,
      StatusCode::UNAUTHENTICATED};
  for (int code = 1; code <= 16; ++code) {
    EXPECT_EQ(
        JudgeDelivery(static_cast<StatusCode>(code), false),
        again.count(code) > 0 ? DeliveryResult::kAgain : DeliveryResult::kNever)
        << code;
  }
  EXPECT_EQ(JudgeDelivery(StatusCode::OK, false), DeliveryResult::kDone);
  EXPECT_EQ(JudgeDelivery(StatusCode::UNAVAILABLE, true),
            DeliveryResult::kRejected);
}

}  // namespace
}  // namespace grpc_resilience::internal

#include "grpc_resilience/stop_reason.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace grpc_resilience {
namespace {

TEST(StopReasonTest, EachHasTheNameThatMetadataCarries) {
  const std::pair<StopReason, std::string_view> names[] = {
      {StopReason::kOk, "OK"},
      {StopReason::kNotRetryable, "NOT_RETRYABLE"},
      {StopReason::kNotIdempotent, "NOT_IDEMPOTENT"},
      {StopReason::kRetriesExhausted, "RETRIES_EXHAUSTED"},
      {StopReason::kBudgetExhausted, "BUDGET_EXHAUSTED"},
      {StopReason::kDeadlineWouldPass, "DEADLINE_WOULD_PASS"},
      {StopReason::kDeadlineExceeded, "DEADLINE_EXCEEDED"},
      {StopReason::kPushback, "PUSHBACK"},
      {StopReason::kBreakerOpen, "BREAKER_OPEN"},
      {StopReason::kCancelled, "CANCELLED"},
      {StopReason::kShutdown, "SHUTDOWN"},
      {StopReason::kChainStop, "CHAIN_STOP"},
      {StopReason::kCommitted, "COMMITTED"},
      {StopReason::kReplayBufferFull, "REPLAY_BUFFER_FULL"},
  };
  for (const auto& [reason, name] : names) EXPECT_EQ(ToString(reason), name);
}

}  // namespace
}  // namespace grpc_resilience

#include "interceptor/attempt_end.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "grpc_resilience/rpc/v1/status.pb.h"
#include "interceptor/status_details.h"

namespace grpc_resilience::internal {
namespace {

using grpc::Status;
using grpc::StatusCode;

AttemptEnd EndWith(const std::string& pushback) {
  Attempt::Metadata trailing;
  trailing.emplace("grpc-retry-pushback-ms", pushback);
  return MakeAttemptEnd(Status(StatusCode::UNAVAILABLE, ""), &trailing);
}

TEST(AttemptEndTest, OkHasNothingMore) {
  const AttemptEnd end = MakeAttemptEnd(Status::OK, nullptr);
  EXPECT_EQ(end.code, StatusCode::OK);
  EXPECT_TRUE(end.message.empty());
  EXPECT_EQ(end.origin, ErrorOrigin::kPeerOrTransport);
  EXPECT_FALSE(end.pushback.has_value());
}

// A size limit is told by its text only; the peer's own RESOURCE_EXHAUSTED is not.
TEST(AttemptEndTest, TellsSizeLimitsFromThePeersAnswer) {
  struct Case {
    const char* name;
    StatusCode code;
    const char* message;
    ErrorOrigin origin;
  };
  for (const Case& c : {
           Case{"sent", StatusCode::RESOURCE_EXHAUSTED,
                "Sent message larger than max (9 vs. 4)", ErrorOrigin::kLocal},
           Case{"received", StatusCode::RESOURCE_EXHAUSTED,
                "Received message larger than max (9 vs. 4)",
                ErrorOrigin::kLocal},
           Case{"peer", StatusCode::RESOURCE_EXHAUSTED, "quota",
                ErrorOrigin::kPeerOrTransport},
           Case{"other code", StatusCode::UNAVAILABLE,
                "Sent message larger than max (9 vs. 4)",
                ErrorOrigin::kPeerOrTransport},
       }) {
    EXPECT_EQ(MakeAttemptEnd(Status(c.code, c.message), nullptr).origin,
              c.origin)
        << c.name;
  }
}

// gRFC A6.
TEST(AttemptEndTest, ReadsPushback) {
  EXPECT_EQ(EndWith("150").pushback->wait, std::chrono::milliseconds(150));
  EXPECT_EQ(EndWith("0").pushback->wait, std::chrono::milliseconds(0));
  for (const char* stop : {"-1", "", "soon", "1.5", "99999999999999"}) {
    const AttemptEnd end = EndWith(stop);
    ASSERT_TRUE(end.pushback.has_value()) << stop;
    EXPECT_EQ(end.pushback->wait, std::nullopt) << stop;
  }
}

TEST(AttemptEndTest, TwoPushbackValuesMeanStop) {
  Attempt::Metadata trailing;
  trailing.emplace("grpc-retry-pushback-ms", "1");
  trailing.emplace("grpc-retry-pushback-ms", "2");
  const AttemptEnd end =
      MakeAttemptEnd(Status(StatusCode::UNAVAILABLE, ""), &trailing);
  ASSERT_TRUE(end.pushback.has_value());
  EXPECT_EQ(end.pushback->wait, std::nullopt);
}

TEST(AttemptEndTest, NoPushbackHeaderNoPushback) {
  Attempt::Metadata trailing;
  EXPECT_FALSE(MakeAttemptEnd(Status(StatusCode::UNAVAILABLE, ""), &trailing)
                   .pushback.has_value());
}

std::string DetailsWith(std::int64_t seconds, int nanos) {
  rpc::v1::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  info.mutable_retry_delay()->set_nanos(nanos);
  rpc::v1::Status status;
  rpc::v1::Any* other = status.add_details();
  other->set_type_url("type.googleapis.com/google.rpc.DebugInfo");
  rpc::v1::Any* detail = status.add_details();
  detail->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  detail->set_value(info.SerializeAsString());
  return status.SerializeAsString();
}

AttemptEnd EndWithDetails(const std::string& details) {
  return MakeAttemptEnd(Status(StatusCode::UNAVAILABLE, "", details), nullptr);
}

// google.rpc.RetryInfo, as servers of googleapis send it.
TEST(AttemptEndTest, ReadsRetryInfo) {
  EXPECT_EQ(EndWithDetails(DetailsWith(1, 500'000'000)).pushback->wait,
            std::chrono::milliseconds(1500));
  EXPECT_GT(*EndWithDetails(DetailsWith(INT64_MAX, 0)).pushback->wait,
            std::chrono::hours(24 * 365));
  EXPECT_FALSE(EndWithDetails(DetailsWith(0, 0)).pushback.has_value());
  EXPECT_FALSE(EndWithDetails(DetailsWith(-1, 0)).pushback.has_value());
  EXPECT_FALSE(EndWithDetails("not a status").pushback.has_value());
  EXPECT_FALSE(EndWithDetails("").pushback.has_value());
}

std::string ErrorInfoWith(const std::string& reason,
                          const std::string& domain) {
  rpc::v1::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(domain);
  rpc::v1::Status status;
  rpc::v1::Any* detail = status.add_details();
  detail->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  detail->set_value(info.SerializeAsString());
  return status.SerializeAsString();
}

// A server that passes on what its own breaker says of a target behind it.
TEST(AttemptEndTest, KnowsARejectionOfABreakerBehindThePeer) {
  const std::string details =
      RejectionDetails("db:1").Make(14, "open", std::chrono::seconds(2));
  const AttemptEnd end = EndWithDetails(details);
  EXPECT_EQ(end.origin, ErrorOrigin::kOwnRejection);
  EXPECT_EQ(end.pushback->wait, std::chrono::seconds(2));

  EXPECT_EQ(
      EndWithDetails(ErrorInfoWith("BREAKER_OPEN", "grpc-resilience")).origin,
      ErrorOrigin::kOwnRejection);
  EXPECT_EQ(
      MakeAttemptEnd(Status(StatusCode::INTERNAL, "", details), nullptr).origin,
      ErrorOrigin::kPeerOrTransport);
  EXPECT_EQ(EndWithDetails(ErrorInfoWith("BREAKER_OPEN", "pay.example")).origin,
            ErrorOrigin::kPeerOrTransport);
  EXPECT_EQ(
      EndWithDetails(ErrorInfoWith("OVERLOADED", "grpc-resilience")).origin,
      ErrorOrigin::kPeerOrTransport);
}

TEST(AttemptEndTest, TextThatIsNotUtf8HidesNoDetail) {
  std::string details = DetailsWith(1, 0);
  details.insert(0, "\x12\x01\xFF", 3);  // message, field 2
  EXPECT_EQ(EndWithDetails(details).pushback->wait, std::chrono::seconds(1));
}

TEST(AttemptEndTest, ThePushbackHeaderIsStrongerThanRetryInfo) {
  Attempt::Metadata trailing;
  trailing.emplace("grpc-retry-pushback-ms", "-1");
  const AttemptEnd end = MakeAttemptEnd(
      Status(StatusCode::UNAVAILABLE, "", DetailsWith(1, 0)), &trailing);
  ASSERT_TRUE(end.pushback.has_value());
  EXPECT_EQ(end.pushback->wait, std::nullopt);
}

}  // namespace
}  // namespace grpc_resilience::internal

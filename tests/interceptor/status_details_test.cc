#include "interceptor/status_details.h"

#include <gtest/gtest.h>

#include <chrono>

#include "grpc_resilience/rpc/v1/status.pb.h"

namespace grpc_resilience::internal {
namespace {

TEST(StatusDetailsTest, CarriesErrorInfoAndRetryInfo) {
  const std::string bytes =
      RejectionDetails("payments:443")
          .Make(14, "open", std::chrono::milliseconds(1250));
  rpc::v1::Status status;
  ASSERT_TRUE(status.ParseFromString(bytes));
  EXPECT_EQ(status.code(), 14);
  EXPECT_EQ(status.message(), "open");
  ASSERT_EQ(status.details_size(), 2);

  EXPECT_EQ(status.details(0).type_url(),
            "type.googleapis.com/google.rpc.ErrorInfo");
  rpc::v1::ErrorInfo error;
  ASSERT_TRUE(error.ParseFromString(status.details(0).value()));
  EXPECT_EQ(error.reason(), "BREAKER_OPEN");
  EXPECT_EQ(error.domain(), "grpc-resilience");
  EXPECT_EQ(error.metadata().at("target"), "payments:443");

  EXPECT_EQ(status.details(1).type_url(),
            "type.googleapis.com/google.rpc.RetryInfo");
  rpc::v1::RetryInfo retry;
  ASSERT_TRUE(retry.ParseFromString(status.details(1).value()));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

// A server's own words and a target's name may be anything, a string field of
// google.rpc's must be UTF-8.
TEST(StatusDetailsTest, IsUtf8WhateverTheServerSays) {
  const std::string bytes =
      RejectionDetails("t\xC3").Make(14, "caf\xC3\xA9 \xFF", Duration(0));
  rpc::v1::Status status;
  ASSERT_TRUE(status.ParseFromString(bytes));
  EXPECT_EQ(status.message(), "caf\xC3\xA9 ?");
  rpc::v1::ErrorInfo error;
  ASSERT_TRUE(error.ParseFromString(status.details(0).value()));
  EXPECT_EQ(error.metadata().at("target"), "t?");
}

// The bytes are those of google.rpc.Status (field numbers of googleapis).
TEST(StatusDetailsTest, IsWireCompatible) {
  const std::string bytes = RejectionDetails("t").Make(14, "m", Duration(0));
  ASSERT_GE(bytes.size(), 5u);
  EXPECT_EQ(bytes[0], 0x08);  // code: field 1, varint
  EXPECT_EQ(bytes[1], 14);
  EXPECT_EQ(bytes[2], 0x12);  // message: field 2, bytes
  EXPECT_EQ(bytes[3], 1);
  EXPECT_EQ(bytes[4], 'm');
  EXPECT_EQ(bytes[5], 0x1a);  // details: field 3, bytes
}

}  // namespace
}  // namespace grpc_resilience::internal

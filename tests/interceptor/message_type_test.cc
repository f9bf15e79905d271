#include "interceptor/message_type.h"

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include "test_service.pb.h"

namespace grpc_resilience::internal {
namespace {

using test::EchoRequest;
using test::EchoResponse;

TEST(LookUpMethodTest, KnowsTypesAndIdempotencyOfGeneratedMethods) {
  const MethodTypes plain = LookUpMethod("/grpc_resilience.test.Echo/Unary");
  EXPECT_EQ(plain.request, &EchoRequest::default_instance());
  EXPECT_EQ(plain.response, &EchoResponse::default_instance());
  EXPECT_FALSE(plain.idempotent);
  EXPECT_TRUE(LookUpMethod("/grpc_resilience.test.Echo/Idempotent").idempotent);
  EXPECT_TRUE(LookUpMethod("/grpc_resilience.test.Echo/ReadOnly").idempotent);
}

TEST(LookUpMethodTest, KnowsNothingOfOtherNames) {
  for (const char* name :
       {"", "/", "Echo", "/grpc_resilience.test.Echo", "/a/b/c/d",
        "grpc_resilience.test.Echo/Unary", "/grpc_resilience.test.Echo/None",
        "/grpc_resilience.test.EchoRequest/key"}) {
    const MethodTypes types = LookUpMethod(name);
    EXPECT_EQ(types.request, nullptr) << name;
    EXPECT_EQ(types.response, nullptr) << name;
    EXPECT_FALSE(types.idempotent) << name;
  }
}

TEST(IsExactlyTest, TellsAClassFromEveryOther) {
  const auto* prototype = &EchoResponse::default_instance();
  google::protobuf::Arena arena;
  EchoResponse on_stack;
  EXPECT_TRUE(IsExactly(prototype, &on_stack));
  EXPECT_TRUE(IsExactly(
      prototype, google::protobuf::Arena::CreateMessage<EchoResponse>(&arena)));
  EchoRequest other;
  EXPECT_FALSE(IsExactly(prototype, &other));
  grpc::ByteBuffer empty;
  EXPECT_FALSE(IsExactly(prototype, &empty));
  const grpc::Slice slice("x");
  grpc::ByteBuffer filled(&slice, 1);
  EXPECT_FALSE(IsExactly(prototype, &filled));
  EXPECT_FALSE(IsExactly(prototype, nullptr));
  EXPECT_FALSE(IsExactly(nullptr, &on_stack));
}

}  // namespace
}  // namespace grpc_resilience::internal

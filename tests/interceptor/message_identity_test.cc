#include "interceptor/message_identity.h"

#include <google/protobuf/arena.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <functional>

#include "interceptor/hijacked_channel.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::internal {
namespace {

using test::Echo;
using test::EchoRequest;
using test::EchoResponse;

constexpr char kMethod[] = "/grpc_resilience.test.Echo/Unary";

MethodTypes Unknown() { return {}; }

/// What Identify says in the first pass of the call that `make_call` makes.
MessageIdentity IdentityOf(
    const MethodTypes& types, MessageKind kind,
    const std::function<void(std::shared_ptr<grpc::Channel>)>& make_call) {
  MessageIdentity identity;
  int passes = 0;
  PassWork work;
  work.send = [&](Pass pass) {
    ++passes;
    identity = Identify(pass, types, kind);
    identity.got_message = nullptr;  // doesn't outlive the pass
  };
  make_call(HijackedChannel(std::move(work)));
  EXPECT_EQ(passes, 1);
  return identity;
}

void StubCall(std::shared_ptr<grpc::Channel> channel) {
  grpc::ClientContext context;
  EchoResponse response;
  const auto stub = Echo::NewStub(channel);
  static_cast<void>(stub->Unary(&context, EchoRequest(), &response));
}

void GenericCall(std::shared_ptr<grpc::Channel> channel) {
  const grpc::Slice slice("request");
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const auto reader = stub.PrepareUnaryCall(&context, kMethod, request, &queue);
  reader->StartCall();
  grpc::Status status;
  reader->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

TEST(IdentifyTest, CallOfAStubIsProtobuf) {
  const MessageIdentity identity =
      IdentityOf(LookUpMethod(kMethod), MessageKind::kDetect, &StubCall);
  EXPECT_TRUE(identity.known);
  EXPECT_EQ(identity.sent, MessageBase::kProtobuf);
  EXPECT_EQ(identity.received, MessageBase::kProtobuf);
}

#if GRPC_RESILIENCE_OP_SET_ACCESS
// The op set proves it, whatever the descriptor pool knows.
TEST(IdentifyTest, CallOfAStubIsProtobufWithoutDescriptors) {
  const MessageIdentity identity =
      IdentityOf(Unknown(), MessageKind::kDetect, &StubCall);
  EXPECT_TRUE(identity.known);
  EXPECT_EQ(identity.received, MessageBase::kProtobuf);
}
#endif

TEST(IdentifyTest, BytesThatAreDeclaredAreKnown) {
  const MessageIdentity identity =
      IdentityOf(Unknown(), MessageKind::kBytes, &GenericCall);
  EXPECT_TRUE(identity.known);
  EXPECT_EQ(identity.received, MessageBase::kBytes);
}

// A protobuf is never taken for bytes, nor the other way round.
TEST(IdentifyTest, GenericCallIsNeverProtobuf) {
  const MessageIdentity identity =
      IdentityOf(LookUpMethod(kMethod), MessageKind::kDetect, &GenericCall);
  EXPECT_NE(identity.sent, MessageBase::kProtobuf);
  EXPECT_NE(identity.received, MessageBase::kProtobuf);
}

class IdentifyReceivedTest : public testing::Test {
 protected:
  static MessageIdentity Sent(MessageBase sent) {
    MessageIdentity identity;
    identity.sent = sent;
    identity.known = true;
    return identity;
  }

  const MethodTypes types_ = LookUpMethod(kMethod);
  EchoResponse response_;
  EchoRequest other_;
  const grpc::ByteBuffer bytes_;
};

TEST_F(IdentifyReceivedTest, WhatIsKnownStays) {
  MessageIdentity identity = Sent(MessageBase::kProtobuf);
  identity.received = MessageBase::kBytes;
  EXPECT_EQ(IdentifyReceived(identity, types_, &response_),
            MessageBase::kBytes);
}

TEST_F(IdentifyReceivedTest, ObjectOfTheMethodsClassIsProtobuf) {
  for (const MessageBase sent :
       {MessageBase::kUnknown, MessageBase::kProtobuf, MessageBase::kBytes}) {
    EXPECT_EQ(IdentifyReceived(Sent(sent), types_, &response_),
              MessageBase::kProtobuf);
  }
}

TEST_F(IdentifyReceivedTest, BytesWereSentSoBytesAreReceived) {
  EXPECT_EQ(IdentifyReceived(Sent(MessageBase::kBytes), types_, &bytes_),
            MessageBase::kBytes);
  EXPECT_EQ(IdentifyReceived(Sent(MessageBase::kBytes), Unknown(), &bytes_),
            MessageBase::kBytes);
}

TEST_F(IdentifyReceivedTest, LiteRuntimeHasNoDescriptors) {
  EXPECT_EQ(
      IdentifyReceived(Sent(MessageBase::kProtobuf), Unknown(), &response_),
      MessageBase::kProtobuf);
}

TEST_F(IdentifyReceivedTest, EverythingElseIsUnknown) {
  EXPECT_EQ(IdentifyReceived(Sent(MessageBase::kProtobuf), types_, &other_),
            MessageBase::kUnknown);
  EXPECT_EQ(IdentifyReceived(Sent(MessageBase::kProtobuf), types_, nullptr),
            MessageBase::kUnknown);
  EXPECT_EQ(IdentifyReceived(Sent(MessageBase::kUnknown), Unknown(), &other_),
            MessageBase::kUnknown);
}

}  // namespace
}  // namespace grpc_resilience::internal

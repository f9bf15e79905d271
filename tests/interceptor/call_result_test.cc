// What needs no server: results that the library made itself, and the report. The
// messages of re-issued attempts are the end-to-end tests' affair.

#include "interceptor/call_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "grpc_resilience/rpc/v1/status.pb.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "interceptor/hijacked_channel.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::internal {
namespace {

using test::Echo;
using test::EchoRequest;
using test::EchoResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kTarget[] = "payments:443";
using Refs = std::multimap<grpc::string_ref, grpc::string_ref>;

std::map<std::string, std::string> Texts(const Refs& refs) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : refs) {
    texts.emplace(std::string(key.data(), key.size()),
                  std::string(value.data(), value.size()));
  }
  return texts;
}

class CallResultTest : public testing::Test {
 protected:
  /// One retry at once; open for 15 s after the first failure.
  CallResultTest() {
    retry_.max_attempts = 2;
    breaker_policy_.failure_rate_threshold = 1.0;
    breaker_policy_.window_calls = breaker_policy_.minimum_calls = 1;
    breaker_policy_.open_duration = std::chrono::seconds(15);
    plan_.target = kTarget;
    plan_.retry = &retry_;
    plan_.idempotent = true;
    plan_.clock = &clock_;
    plan_.random = &random_;
  }

  void UseOpenBreaker() {
    breaker_.emplace(BreakerKey{kTarget, ""}, breaker_policy_,
                     RetryThrottlePolicy(), clock_, random_, nullptr);
    breaker_->TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE,
                                   "connection refused");
    plan_.breaker = &*breaker_;
  }

  /// Runs attempts that end so until the call is over.
  static void Run(CallSession& session, StatusCode code) {
    Decision decision = session.Start();
    while (decision.step != Step::kFinish) {
      AttemptEnd end;
      end.code = code;
      decision = decision.step == Step::kAttempt ? session.OnAttemptEnd(end)
                                                 : session.OnWaitOver();
    }
  }

  std::map<std::string, std::string> Report() const {
    Refs trailing;
    result_.AddReport(&trailing);
    return Texts(trailing);
  }

  FakeClock clock_;
  FixedRandom random_{0.0};
  RetryPolicy retry_;
  BreakerPolicy breaker_policy_;
  std::optional<CircuitBreaker> breaker_;
  SessionPlan plan_;
  const RejectionDetails details_{kTarget};
  CallResult result_;
};

TEST_F(CallResultTest, OwnStatusOfAnUneventfulCallHasNoReport) {
  for (const StatusCode code : {StatusCode::OK, StatusCode::NOT_FOUND}) {
    CallSession session(plan_, Deadline::None());
    Run(session, code);
    const grpc::Status own(code, "as the server said", "details");
    CallResult result;
    result.Decide(session, details_, nullptr, &own);
    EXPECT_EQ(result.status().error_code(), code);
    EXPECT_EQ(result.status().error_message(), "as the server said");
    EXPECT_EQ(result.status().error_details(), "details");
    Refs trailing;
    result.AddReport(&trailing);
    EXPECT_THAT(Texts(trailing), IsEmpty());
  }
}

TEST_F(CallResultTest, RetriedCallReportsAttemptsAndReason) {
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::UNAVAILABLE);
  const grpc::Status own(StatusCode::UNAVAILABLE, "down");
  result_.Decide(session, details_, nullptr, &own);
  EXPECT_EQ(result_.status().error_message(), "down");
  EXPECT_THAT(Report(),
              ElementsAre(Pair("grpc-resilience-attempts", "2"),
                          Pair("grpc-resilience-reason", "RETRIES_EXHAUSTED")));
}

TEST_F(CallResultTest, RetryThatSucceededReportsAttemptsOnly) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd failed;
  failed.code = StatusCode::UNAVAILABLE;
  session.OnAttemptEnd(failed);
  session.OnWaitOver();
  ASSERT_EQ(session.OnAttemptEnd({}).step, Step::kFinish);
  const grpc::Status own;
  result_.Decide(session, details_, nullptr, &own);
  EXPECT_THAT(Report(), ElementsAre(Pair("grpc-resilience-attempts", "2")));
}

// One attempt was all that the policy allowed: as without us.
TEST_F(CallResultTest, OneAttemptThatFailedIsNoEvent) {
  retry_.max_attempts = 1;
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::UNAVAILABLE);
  const grpc::Status own(StatusCode::UNAVAILABLE, "down");
  result_.Decide(session, details_, nullptr, &own);
  EXPECT_THAT(Report(), IsEmpty());
}

TEST_F(CallResultTest, RejectionSaysSoInStatusDetailsAndReport) {
  UseOpenBreaker();
  clock_.Advance(std::chrono::seconds(5));
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::OK);
  result_.Decide(session, details_, nullptr, nullptr);

  const grpc::Status& status = result_.status();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr(kTarget));
  EXPECT_THAT(status.error_message(), HasSubstr("connection refused"));
  rpc::v1::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(details.message(), status.error_message());
  EXPECT_THAT(details.DebugString(), HasSubstr("BREAKER_OPEN"));
  EXPECT_THAT(Report(),
              ElementsAre(Pair("grpc-resilience-attempts", "0"),
                          Pair("grpc-resilience-reason", "BREAKER_OPEN")));
}

TEST_F(CallResultTest, OverrideTakesTheStatusAndLeavesTheReport) {
  UseOpenBreaker();
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::OK);
  result_.Decide(session, details_, nullptr, nullptr);
  result_.OverrideStatus(grpc::Status(StatusCode::CANCELLED, "by the caller"));
  EXPECT_EQ(result_.status().error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(Report().size(), 2u);
}

class CallResultPassTest : public CallResultTest {
 protected:
  /// What a caller gets when `fill` treats the pass of its call.
  struct Received {
    grpc::Status status;
    std::map<std::string, std::string> trailing;
  };
  static Received MakeCall(PassWork work) {
    const auto stub = Echo::NewStub(HijackedChannel(std::move(work)));
    grpc::ClientContext context;
    EchoResponse response;
    Received received;
    received.status = stub->Unary(&context, EchoRequest(), &response);
    received.trailing = Texts(context.GetServerTrailingMetadata());
    return received;
  }

  static MessageIdentity Protobufs() {
    MessageIdentity identity;
    identity.sent = identity.received = MessageBase::kProtobuf;
    identity.known = true;
    return identity;
  }
};

TEST_F(CallResultPassTest, FillHandsOverTheRejection) {
  UseOpenBreaker();
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::OK);
  result_.Decide(session, details_, nullptr, nullptr);

  PassWork work;
  work.receive = [&](Pass pass) { result_.Fill(pass, Protobufs(), {}); };
  const Received received = MakeCall(std::move(work));
  EXPECT_EQ(received.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(received.status.error_message(), result_.status().error_message());
  EXPECT_EQ(received.status.error_details(), result_.status().error_details());
  EXPECT_THAT(received.trailing,
              ElementsAre(Pair("grpc-resilience-attempts", "0"),
                          Pair("grpc-resilience-reason", "BREAKER_OPEN")));
}

// A stub would say the same of a server that answers so.
TEST_F(CallResultPassTest, FillWithoutAMessageIsNoSuccess) {
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::OK);
  const grpc::Status own;
  result_.Decide(session, details_, nullptr, &own);

  PassWork work;
  work.receive = [&](Pass pass) { result_.Fill(pass, Protobufs(), {}); };
  const Received received = MakeCall(std::move(work));
  EXPECT_EQ(received.status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(received.status.error_message(),
            "No message returned for unary request");
}

TEST_F(CallResultPassTest, ReplaceChangesStatusAndAddsTheReport) {
  CallSession session(plan_, Deadline::None());
  Run(session, StatusCode::UNAVAILABLE);
  result_.Decide(session, details_, nullptr, nullptr);
  result_.OverrideStatus(grpc::Status(StatusCode::DEADLINE_EXCEEDED, "late"));

  PassWork work;
  work.receive = [](Pass pass) {
    pass->FailHijackedRecvMessage();
    *pass->GetRecvStatus() = grpc::Status(StatusCode::UNAVAILABLE, "down");
    pass->GetRecvTrailingMetadata()->emplace("from", "server");
  };
  work.received = [&](Pass pass) {
    result_.Replace(pass, Protobufs(), nullptr);
  };
  const Received received = MakeCall(std::move(work));
  EXPECT_EQ(received.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(received.status.error_message(), "late");
  EXPECT_THAT(
      received.trailing,
      ElementsAre(Pair("from", "server"), Pair("grpc-resilience-attempts", "2"),
                  Pair("grpc-resilience-reason", "RETRIES_EXHAUSTED")));
}

}  // namespace
}  // namespace grpc_resilience::internal

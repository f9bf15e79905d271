// A process that calls a backend, administered from here.

#include <algorithm>

#include "admin/end_to_end/admin_test.h"

namespace grpc_resilience::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class AdminCallsTest : public AdminTest {
 protected:
  void TearDown() override {
    backend().Reset();
    EXPECT_TRUE(Force(pb::AUTO).ok());
    EXPECT_TRUE(Reset().ok());
  }
};

// H01
TEST_F(AdminCallsTest, OnlyTheRightTokenIsLetIn) {
  pb::ListBreakersResponse response;
  for (const char* token : {"", "wrong", "reader-hunter", "reader-hunter22"}) {
    EXPECT_EQ(List(token, &response).error_code(),
              grpc::StatusCode::UNAUTHENTICATED)
        << token;
    EXPECT_EQ(Force(pb::FORCED_OPEN, token).error_code(),
              grpc::StatusCode::UNAUTHENTICATED)
        << token;
    const auto context = With(token);
    const auto watch = stub_->WatchBreakers(context.get(), {});
    pb::WatchBreakersResponse event;
    EXPECT_FALSE(watch->Read(&event));
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_EQ(response.ByteSizeLong(), 0u);
  const auto with_header = [&](std::vector<std::string> values) {
    grpc::ClientContext context;
    for (const std::string& value : values) {
      context.AddMetadata("authorization", value);
    }
    return stub_->ListBreakers(&context, {}, &response).error_code();
  };
  const std::string token = kReadToken;
  EXPECT_EQ(with_header({"bearer " + token}), grpc::StatusCode::OK);
  EXPECT_EQ(with_header({token}), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(with_header({"Basic " + token}), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(with_header({"Bearer wrong", "Bearer " + token}),
            grpc::StatusCode::UNAUTHENTICATED);

  subject().TakeStats();
  for (const char* refused : {"ListBreakers: UNAUTHENTICATED: no token",
                              "ListBreakers: UNAUTHENTICATED: wrong token",
                              "ForceMode: UNAUTHENTICATED: wrong token",
                              "WatchBreakers: UNAUTHENTICATED: wrong token"}) {
    EXPECT_THAT(subject().log(),
                Contains(AllOf(HasSubstr("(unknown) (ipv4:127.0.0.1:"),
                               HasSubstr(refused))));
  }
  EXPECT_THAT(subject().log(), Not(Contains(HasSubstr("hunter"))));
}

TEST_F(AdminCallsTest, WhoMayReadMayNotChange) {
  pb::ListBreakersResponse response;
  EXPECT_TRUE(List(kReadToken, &response).ok());
  EXPECT_EQ(response.breakers_size(), 1);
  EXPECT_EQ(Force(pb::FORCED_OPEN, kReadToken).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  pb::ResetBreakerRequest reset;
  *reset.mutable_key() = Key();
  reset.set_reason("test");
  pb::ResetBreakerResponse resetted;
  EXPECT_EQ(
      local_stub_->ResetBreaker(With("").get(), reset, &resetted).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(local_stub_->ListBreakers(With("").get(), {}, &response).ok());
  EXPECT_EQ(Get().mode(), pb::AUTO);
  subject().TakeStats();
  EXPECT_THAT(
      subject().log(),
      Contains(AllOf(HasSubstr("read token (ipv4:127.0.0.1:"),
                     HasSubstr("ForceMode"), HasSubstr("PERMISSION_DENIED"))));
  EXPECT_THAT(subject().log(), Contains(AllOf(HasSubstr("local (unix:"),
                                              HasSubstr("ResetBreaker"),
                                              HasSubstr("PERMISSION_DENIED"))));
}

TEST_F(AdminCallsTest, AForcedBreakerHoldsFromTheNextCallOn) {
  ASSERT_TRUE(Force(pb::FORCED_OPEN).ok());
  const Subject::Stats forced = StatsOf(100);
  // One may have been under way.
  EXPECT_GE(forced.rejected, forced.calls - 1);
  EXPECT_EQ(Get().mode_reason(), "change token: test");
  ASSERT_TRUE(Force(pb::AUTO).ok());
  EXPECT_LE(StatsOf(100).rejected, 1);
  EXPECT_THAT(subject().log(),
              Contains(AllOf(HasSubstr("change token (ipv4:127.0.0.1:"),
                             HasSubstr("ForceMode \"" + backend().target()),
                             HasSubstr("FORCED_OPEN, reason \"test\": OK"))));
}

TEST_F(AdminCallsTest, UnknownNamesAreNotFoundAndNothingIsMade) {
  pb::GetBreakerRequest request;
  request.mutable_key()->set_target("nobody:1");
  pb::GetBreakerResponse response;
  EXPECT_EQ(stub_->GetBreaker(With(kReadToken).get(), request, &response)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
  pb::ForceModeRequest force;
  *force.mutable_key() = request.key();
  force.set_mode(pb::FORCED_OPEN);
  force.set_reason("test");
  pb::ForceModeResponse forced;
  EXPECT_EQ(
      stub_->ForceMode(With(kChangeToken).get(), force, &forced).error_code(),
      grpc::StatusCode::NOT_FOUND);
  pb::ListBreakersResponse list;
  ASSERT_TRUE(List(kReadToken, &list).ok());
  EXPECT_EQ(list.breakers_size(), 1);
}

TEST_F(AdminCallsTest, OversizedAndMalformedRequestsAreRefused) {
  pb::ListBreakersRequest list;
  list.mutable_filter()->set_contains(std::string(2'000'000, 'x'));
  pb::ListBreakersResponse response;
  const grpc::Status status =
      stub_->ListBreakers(With(kReadToken).get(), list, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LT(status.error_message().size(), 300u);
  for (const char* target : {"", "a\nb", "a\x7f"}) {
    pb::GetBreakerRequest get;
    get.mutable_key()->set_target(target);
    pb::GetBreakerResponse got;
    EXPECT_EQ(stub_->GetBreaker(With(kReadToken).get(), get, &got).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << target;
  }
  for (const char* method : {"Get", "/a.B", "/a.B/*", "/a.B/C/D"}) {
    pb::ForceModeRequest force;
    *force.mutable_key() = Key();
    force.mutable_key()->set_method(method);
    force.set_mode(pb::FORCED_OPEN);
    force.set_reason("test");
    pb::ForceModeResponse forced;
    EXPECT_EQ(
        stub_->ForceMode(With(kChangeToken).get(), force, &forced).error_code(),
        grpc::StatusCode::INVALID_ARGUMENT)
        << method;
  }
  EXPECT_EQ(StatsOf(20).failed, 0);
  pb::WatchBreakersRequest watch;
  watch.mutable_heartbeat()->set_nanos(1);
  const auto context = With(kReadToken);
  const auto reader = stub_->WatchBreakers(context.get(), watch);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminCallsTest, AnOutageIsWatchedAndExplained) {
  const auto context = With(kReadToken);
  context->set_deadline(std::chrono::system_clock::now() + seconds(30));
  const auto reader = stub_->WatchBreakers(context.get(), {});
  pb::WatchBreakersResponse event;
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(event.snapshot().complete());
  ASSERT_EQ(event.snapshot().breakers_size(), 1);
  std::uint64_t generation = event.snapshot().breakers(0).generation();

  // Each is heard, in order, without gaps.
  const auto read_until = [&](pb::State state) {
    while (reader->Read(&event)) {
      for (const auto& transition : event.transitions().transitions()) {
        EXPECT_EQ(transition.generation(), ++generation);
        if (transition.to() == state) return transition;
      }
    }
    ADD_FAILURE() << "the watch has ended";
    return pb::Transition();
  };
  backend().SetGlobalFault(GlobalFault::FAIL, 14);
  EXPECT_EQ(read_until(pb::OPEN).why(), "5 failures in a row");

  pb::ExplainBreakerRequest request;
  *request.mutable_key() = Key();
  pb::ExplainBreakerResponse explanation;
  ASSERT_TRUE(
      stub_->ExplainBreaker(With(kReadToken).get(), request, &explanation)
          .ok());
  EXPECT_THAT(explanation.summary(), HasSubstr("UNAVAILABLE"));
  EXPECT_GT(explanation.figures_size(), 3);
  backend().Reset();
  EXPECT_EQ(read_until(pb::CLOSED).reason(), pb::PROBES_SUCCEEDED);
  context->TryCancel();
}

// H02
TEST_F(AdminCallsTest, AnswersHoldNoSecrets) {
  pb::RecordOutcomesRequest record;
  *record.mutable_key() = Key();
  record.set_reason("test");
  pb::RecordOutcomesResponse recording;
  ASSERT_TRUE(
      stub_->RecordOutcomes(With(kChangeToken).get(), record, &recording).ok());
  StatsOf(20);
  std::string all = Get().DebugString();
  const auto ask = [&](auto call, auto request, auto response) {
    const grpc::Status status =
        (stub_.get()->*call)(With(kReadToken).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    all += response.DebugString();
    return response;
  };
  pb::ExplainBreakerRequest explain;
  *explain.mutable_key() = Key();
  ask(&AdminStub::ExplainBreaker, explain, pb::ExplainBreakerResponse());
  pb::ListTransitionsRequest transitions;
  *transitions.mutable_key() = Key();
  ask(&AdminStub::ListTransitions, transitions, pb::ListTransitionsResponse());
  ask(&AdminStub::ListPolicies, pb::ListPoliciesRequest(),
      pb::ListPoliciesResponse());
  pb::ListOutcomesRequest outcomes;
  *outcomes.mutable_key() = Key();
  const auto kept =
      ask(&AdminStub::ListOutcomes, outcomes, pb::ListOutcomesResponse());
  ASSERT_GE(kept.outcomes_size(), 10);
  EXPECT_EQ(kept.outcomes(0).kind(), pb::Outcome::SUCCESS);
  EXPECT_EQ(kept.outcomes(0).method(), "/grpc_resilience.test.Echo/Unary");
  EXPECT_THAT(all, Not(HasSubstr("hunter2")));
  for (const std::string& line : subject().log()) {
    EXPECT_THAT(line, Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace grpc_resilience::test

// What is changed, and what isn't.

#include "admin/admin_fixture.h"

namespace grpc_resilience::internal {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ChangeHandlersTest : public AdminFixture {
 protected:
  ChangeHandlersTest() { entry_.who = "alice"; }

  static pb::ForceModeRequest ForceRequest(pb::Mode mode) {
    pb::ForceModeRequest request;
    *request.mutable_key() = Key("a");
    request.set_mode(mode);
    request.set_reason("move");
    return request;
  }
  void ExpectFault(const pb::ForceModeRequest& request,
                   const std::string& text) {
    pb::ForceModeResponse response;
    const absl::Status status = change_.Force(request, &entry_, &response);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(Breaker("a")->snapshot().mode, OperatorMode::kAuto);
  }

  AdminLogEntry entry_;
};

TEST_F(ChangeHandlersTest, AForcedBreakerRejectsTheNextCallAndSaysWhoAndWhy) {
  const auto breaker = Breaker("a");
  pb::ForceModeRequest request = ForceRequest(pb::FORCED_OPEN);
  request.mutable_ttl()->set_seconds(600);
  pb::ForceModeResponse response;
  ASSERT_TRUE(change_.Force(request, &entry_, &response).ok());
  EXPECT_FALSE(breaker->TryAcquire().has_value());
  EXPECT_EQ(response.breaker().mode(), pb::FORCED_OPEN);
  EXPECT_EQ(response.breaker().mode_reason(), "alice: move");
  EXPECT_EQ(response.breaker().mode_ends_in().seconds(), 600);
  EXPECT_EQ(entry_.what, "FORCED_OPEN for 10 min");
  clock_.Advance(minutes(10));
  EXPECT_TRUE(breaker->TryAcquire().has_value());
}

TEST_F(ChangeHandlersTest, BadRequestsChangeNothing) {
  Breaker("a");
  ExpectFault(ForceRequest(pb::MODE_UNSPECIFIED), "mode = 0: must be AUTO");
  ExpectFault(ForceRequest(static_cast<pb::Mode>(99)), "mode = 99");
  pb::ForceModeRequest request = ForceRequest(pb::FORCED_OPEN);
  request.clear_reason();
  ExpectFault(request, "reason = \"\": must be set");
  request.set_reason(std::string(200, 'x'));
  ExpectFault(request, "at most 160 bytes");
  request.set_reason("a\nadmin: forged log line");
  ExpectFault(request, "without control characters");
  request.set_reason("move");
  request.mutable_ttl()->set_seconds(0);
  ExpectFault(request, "ttl = 0 s: must be in");
  request.mutable_ttl()->set_seconds(-5);
  ExpectFault(request, "ttl = -5 s");
  request.mutable_ttl()->set_seconds(315'576'000'000);
  ExpectFault(request, "ttl");
  request.set_mode(pb::AUTO);
  request.mutable_ttl()->set_seconds(60);
  ExpectFault(request, "must be unset with AUTO");
}

TEST_F(ChangeHandlersTest, UnknownNamesAreNotFoundAndNothingIsMade) {
  pb::ForceModeResponse response;
  EXPECT_EQ(change_.Force(ForceRequest(pb::SHADOW), &entry_, &response).code(),
            absl::StatusCode::kNotFound);
  pb::ResetBreakerRequest reset;
  *reset.mutable_key() = Key("a");
  reset.set_reason("r");
  pb::ResetBreakerResponse resetted;
  EXPECT_EQ(change_.Reset(reset, &entry_, &resetted).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(resilience_->registry().size(), 0u);
}

TEST_F(ChangeHandlersTest, ABreakerThatIsSwitchedOffCanNotBeForced) {
  Config config;
  config.DefaultTarget().breaker.mode = BreakerMode::kDisabled;
  ASSERT_TRUE(resilience_->Update(config).ok());
  Breaker("a");
  pb::ForceModeResponse response;
  EXPECT_EQ(
      change_.Force(ForceRequest(pb::FORCED_OPEN), &entry_, &response).code(),
      absl::StatusCode::kFailedPrecondition);
}

TEST_F(ChangeHandlersTest, ResetCloses) {
  Open("a");
  pb::ResetBreakerRequest request;
  *request.mutable_key() = Key("a");
  request.set_reason("it is back");
  pb::ResetBreakerResponse response;
  ASSERT_TRUE(change_.Reset(request, &entry_, &response).ok());
  EXPECT_EQ(response.breaker().state(), pb::CLOSED);
  EXPECT_EQ(entry_.what, "from OPEN");
}

class RecordingTest : public ChangeHandlersTest {
 protected:
  absl::Status Record(const std::string& target, int capacity = 0) {
    Breaker(target);
    pb::RecordOutcomesRequest request;
    *request.mutable_key() = Key(target);
    request.set_capacity(capacity);
    request.set_reason("looking");
    pb::RecordOutcomesResponse response;
    return change_.Record(request, &entry_, &response);
  }
  absl::StatusOr<pb::ListOutcomesResponse> Outcomes(const std::string& target) {
    pb::ListOutcomesRequest request;
    *request.mutable_key() = Key(target);
    pb::ListOutcomesResponse response;
    const absl::Status status = read_.Outcomes(request, &response);
    if (!status.ok()) return status;
    return response;
  }
  // As an adapter does.
  void Attempt(std::string_view target, StatusCode code, Outcome outcome) {
    AttemptEvent event;
    event.target = target;
    event.method = "/a.B/C";
    event.code = code;
    event.classification.outcome = outcome;
    event.duration = std::chrono::milliseconds(7);
    for (const auto& observer : *resilience_->observers()) {
      observer->OnAttemptEnd(event);
    }
  }
};

TEST_F(RecordingTest, CallsAreHeardOnlyWhileThereIsARecording) {
  EXPECT_THAT(*resilience_->observers(), SizeIs(0));
  EXPECT_EQ(Record("a").code(), absl::StatusCode::kOk);
  EXPECT_THAT(*resilience_->observers(), SizeIs(1));
  clock_.Advance(seconds(59));
  EXPECT_TRUE(recorder_->Expire());
  EXPECT_TRUE(Outcomes("a").ok());
  clock_.Advance(seconds(1));
  EXPECT_EQ(Outcomes("a").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(recorder_->Expire());
  EXPECT_THAT(*resilience_->observers(), SizeIs(0));
}

TEST_F(RecordingTest, TheLastOutcomesAreKept) {
  ASSERT_EQ(Record("a", 2).code(), absl::StatusCode::kOk);
  Attempt("a", StatusCode::OK, Outcome::kSuccess);
  Attempt("b", StatusCode::OK, Outcome::kSuccess);
  Attempt("a", StatusCode::UNAVAILABLE, Outcome::kFailure);
  CallEvent rejected;
  rejected.target = "a";
  rejected.method = "/a.B/C";
  rejected.code = StatusCode::UNAVAILABLE;
  rejected.reason = StopReason::kBreakerOpen;
  for (const auto& observer : *resilience_->observers()) {
    observer->OnCallEnd(rejected);
  }
  const auto outcomes = Outcomes("a");
  ASSERT_TRUE(outcomes.ok());
  EXPECT_EQ(outcomes->recorded(), 3u);
  ASSERT_THAT(outcomes->outcomes(), SizeIs(2));
  EXPECT_EQ(outcomes->outcomes(0).kind(), pb::Outcome::FAILURE);
  EXPECT_EQ(outcomes->outcomes(0).code(), "UNAVAILABLE");
  EXPECT_EQ(outcomes->outcomes(0).latency().nanos(), 7'000'000);
  EXPECT_EQ(outcomes->outcomes(1).kind(), pb::Outcome::REJECTED);
}

TEST_F(RecordingTest, CallsOfACustomKeyAreKnownByTheKeyFunction) {
  Config config;
  BreakerPolicy& breaker = config.DefaultTarget().breaker;
  breaker.scope = BreakerScope::kKeyFunction;
  int asked = 0;
  breaker.key_function = [&](std::string_view target, std::string_view) {
    ++asked;
    return std::string(target == "other" ? "other" : "shard 1");
  };
  ASSERT_TRUE(resilience_->Update(config).ok());
  const BreakerKey key = resilience_->BreakerKeyFor("a", "/a.B/C");
  resilience_->registry().GetOrCreate(key);
  pb::RecordOutcomesRequest request;
  request.mutable_key()->set_custom("shard 1");
  request.set_reason("looking");
  pb::RecordOutcomesResponse response;
  ASSERT_TRUE(change_.Record(request, &entry_, &response).ok());
  asked = 0;
  for (int i = 0; i < 5; ++i) Attempt("a", StatusCode::OK, Outcome::kSuccess);
  Attempt("other", StatusCode::OK, Outcome::kSuccess);
  EXPECT_EQ(asked, 2);  // once for each
  EXPECT_EQ(recorder_->Find(key)->recorded, 5u);
}

TEST_F(RecordingTest, ThereAreNeverTooMany) {
  EXPECT_EQ(Record("a").code(), absl::StatusCode::kOk);
  EXPECT_EQ(Record("b").code(), absl::StatusCode::kOk);
  EXPECT_EQ(Record("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Record("a", 1001).code(), absl::StatusCode::kInvalidArgument);
  // Again is longer, not one more.
  EXPECT_EQ(Record("a", 5).code(), absl::StatusCode::kOk);
  pb::RecordOutcomesRequest stop;
  *stop.mutable_key() = Key("a");
  stop.set_reason("seen");
  stop.set_stop(true);
  pb::RecordOutcomesResponse response;
  EXPECT_TRUE(change_.Record(stop, &entry_, &response).ok());
  EXPECT_EQ(Record("c").code(), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace grpc_resilience::internal

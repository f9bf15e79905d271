// What is logged of callers that aren't let in, and the default log.

#include <grpcpp/grpcpp.h>

#include <thread>

#include "admin/admin_fixture.h"
#include "admin/full_pipe.h"
#include "grpc_resilience/admin/v1/admin.grpc.pb.h"
#include "grpc_resilience/admin_service.h"

namespace grpc_resilience::internal {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kRead[] = "read-hunter2";
constexpr char kChange[] = "change-hunter2";

// The service in this process, on the test's clock.
class ServedTest : public AdminFixture {
 protected:
  void Serve(AdminLog log, AdminAuthoriserPtr authoriser = Tokens()) {
    AdminOptions options;
    options.authoriser = std::move(authoriser);
    options.log = std::move(log);
    service_ = *AdminService::Create(resilience_, std::move(options));
    grpc::ServerBuilder builder;
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    stub_ = pb::ResilienceAdmin::NewStub(server_->InProcessChannel({}));
  }
  void TearDown() override {
    server_->Shutdown();
    server_.reset();
    service_.reset();
  }
  static AdminAuthoriserPtr Tokens() {
    AdminTokens tokens;
    tokens.read = kRead;
    tokens.change = kChange;
    return *StaticTokenAuthoriser(std::move(tokens));
  }

  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (pb::ResilienceAdmin::Stub::*call)(
                       grpc::ClientContext*, const Request&, Response*),
                   const std::string& token, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + minutes(1));
    if (!token.empty()) {
      context.AddMetadata("authorization", "Bearer " + token);
    }
    Response response;
    return (*stub_.*call)(&context, request, &response);
  }
  grpc::StatusCode List(const std::string& token) {
    return Ask(&pb::ResilienceAdmin::Stub::ListBreakers, token, {})
        .error_code();
  }
  grpc::Status Force(const std::string& token,
                     const std::string& reason = "move") {
    pb::ForceModeRequest request;
    *request.mutable_key() = Key("payments:443");
    request.set_mode(pb::SHADOW);
    request.set_reason(reason);
    return Ask(&pb::ResilienceAdmin::Stub::ForceMode, token, request);
  }

  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<pb::ResilienceAdmin::Stub> stub_;
};

class RefusedCallersTest : public ServedTest {
 protected:
  void Serve(AdminAuthoriserPtr authoriser = Tokens()) {
    ServedTest::Serve(
        [this](const AdminLogEntry& entry) {
          absl::MutexLock lock(&mu_);
          entries_.push_back(entry);
        },
        std::move(authoriser));
  }
  /// Since the last time.
  std::vector<AdminLogEntry> TakeEntries() {
    absl::MutexLock lock(&mu_);
    return std::exchange(entries_, {});
  }
  std::vector<std::string> TakeLines() {
    std::vector<std::string> lines;
    for (AdminLogEntry entry : TakeEntries()) {
      EXPECT_THAT(entry.peer, Not(IsEmpty()));
      entry.peer = "peer";  // versions of gRPC differ about one in process
      lines.push_back(ToString(entry));
    }
    return lines;
  }

 private:
  absl::Mutex mu_;
  std::vector<AdminLogEntry> entries_ ABSL_GUARDED_BY(mu_);
};

TEST_F(RefusedCallersTest, StrangersAreLoggedWithoutTheirWords) {
  Serve();
  EXPECT_EQ(List(""), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(List("wrong-hunter2"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Force("wrong-hunter2").error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext context;
  const auto watch = stub_->WatchBreakers(&context, {});
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(
      TakeLines(),
      testing::ElementsAre(
          "admin: (unknown) (peer) ListBreakers: UNAUTHENTICATED: no token",
          "admin: (unknown) (peer) ListBreakers: UNAUTHENTICATED: wrong "
          "token",
          "admin: (unknown) (peer) ForceMode: UNAUTHENTICATED: wrong token",
          "admin: (unknown) (peer) WatchBreakers: UNAUTHENTICATED: no "
          "token"));
  // Who is let in to read is nothing to log.
  EXPECT_EQ(List(kRead), grpc::StatusCode::OK);
  EXPECT_THAT(TakeLines(), IsEmpty());
}

TEST_F(RefusedCallersTest, AReaderWhoTriesToChangeIsNamed) {
  Serve();
  Breaker("payments:443");
  EXPECT_EQ(Force(kRead).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(TakeLines(),
              testing::ElementsAre(
                  "admin: read token (peer) ForceMode \"payments:443\", "
                  "reason \"move\": PERMISSION_DENIED: may read, not change"));
  // However much there is in it.
  EXPECT_EQ(Force(kRead, std::string(1'000'000, 'x')).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Force(kChange, std::string(1'000'000, 'x')).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  const auto lines = TakeLines();
  EXPECT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines, Each(testing::SizeIs(testing::Lt(1500u))));
}

TEST_F(RefusedCallersTest, AFloodIsCountedAndHidesNoColleague) {
  Serve();
  for (int i = 0; i < 500; ++i) List(i % 2 == 0 ? "" : "guessed");
  EXPECT_THAT(TakeEntries(), SizeIs(10));
  Force(kRead);
  ASSERT_THAT(TakeEntries(), SizeIs(1));
  Force(kChange);
  ASSERT_THAT(TakeEntries(), SizeIs(1));
  clock_.Advance(seconds(1));
  for (int i = 0; i < 5; ++i) List("guessed");
  const auto entries = TakeEntries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].not_logged, 490u);
  EXPECT_THAT(ToString(entries[0]),
              HasSubstr("wrong token (and 490 refused calls before it)"));
}

// An authoriser of the application's that says too much.
TEST_F(RefusedCallersTest, NoTokenIsQuotedOrLogged) {
  Serve(*FunctionAuthoriser(
      [](const AdminCaller& caller, AdminRight) -> absl::StatusOr<std::string> {
        const std::string token(caller.token.value_or(""));
        if (token == "down-hunter2") {
          return absl::UnavailableError("no answer about " + token);
        }
        return absl::UnauthenticatedError("nobody has the token " + token);
      }));
  const grpc::Status status = Force("wrong-hunter2");
  EXPECT_EQ(status.error_message(), "nobody has the token (token)");
  EXPECT_EQ(Force("down-hunter2").error_message(), "no answer about (token)");
  const auto lines = TakeLines();
  EXPECT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines, Each(Not(HasSubstr("hunter2"))));
}

/// Takes the place of stderr for as long as it lives.
class StderrInstead {
 public:
  explicit StderrInstead(int fd) : own_(dup(STDERR_FILENO)) {
    dup2(fd, STDERR_FILENO);
  }
  ~StderrInstead() {
    dup2(own_, STDERR_FILENO);
    close(own_);
  }
  StderrInstead(const StderrInstead&) = delete;
  StderrInstead& operator=(const StderrInstead&) = delete;

 private:
  const int own_;
};

using DefaultLogTest = ServedTest;

// A log that waited would take one gRPC thread after the other.
TEST_F(DefaultLogTest, AFullStderrHoldsUpNoCall) {
  Serve(nullptr);
  Breaker("payments:443");
  test::FullPipe pipe;
  const StderrInstead instead(pipe.writing_end());
  constexpr int kChanges = 300;
  for (int i = 0; i < kChanges; ++i) ASSERT_TRUE(Force(kChange).ok()) << i;
  for (int i = 0; i < 256; ++i) {
    ASSERT_THAT(
        pipe.ReadLine(),
        testing::AllOf(testing::StartsWith("admin: change token ("),
                       testing::EndsWith(") ForceMode \"payments:443\" SHADOW, "
                                         "reason \"move\": OK")))
        << i;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal

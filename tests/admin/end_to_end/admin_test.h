// Fixture: a backend, a process that calls it, and stubs of its admin service.

#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "admin/end_to_end/programs.h"
#include "admin/end_to_end/subject_secrets.h"
#include "grpc_resilience/admin/v1/admin.grpc.pb.h"
#include "support/backend_process.h"
#include "support/test_paths.h"
#include "support/watchdog.h"

namespace grpc_resilience::test {

namespace pb = admin::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using AdminStub = pb::ResilienceAdmin::Stub;

class AdminTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    backend_ = BackendProcess::Start(BackendPath());
    subject_ = std::make_unique<Subject>(backend_->target());
  }
  static void TearDownTestSuite() {
    subject_.reset();
    backend_.reset();
  }
  static BackendProcess& backend() { return *backend_; }
  static Subject& subject() { return *subject_; }

  /// A connection of its own.
  static std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // Flow control's windows stay as small as they begin.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments);
  }
  static std::unique_ptr<grpc::ClientContext> With(const std::string& token) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<milliseconds>(Scaled(seconds(10))));
    if (!token.empty()) {
      context->AddMetadata("authorization", "Bearer " + token);
    }
    return context;
  }

  /// Of the breaker that the load goes through.
  static pb::BreakerKey Key() {
    pb::BreakerKey key;
    key.set_target(backend().target());
    return key;
  }
  grpc::Status Force(pb::Mode mode, const std::string& token = kChangeToken,
                     const std::string& reason = "test") {
    pb::ForceModeRequest request;
    *request.mutable_key() = Key();
    request.set_mode(mode);
    request.set_reason(reason);
    pb::ForceModeResponse response;
    return stub_->ForceMode(With(token).get(), request, &response);
  }
  grpc::Status Reset() {
    pb::ResetBreakerRequest request;
    *request.mutable_key() = Key();
    request.set_reason("test");
    pb::ResetBreakerResponse response;
    return stub_->ResetBreaker(With(kChangeToken).get(), request, &response);
  }
  grpc::Status List(const std::string& token,
                    pb::ListBreakersResponse* response) {
    return stub_->ListBreakers(With(token).get(), {}, response);
  }
  pb::Breaker Get() {
    pb::GetBreakerRequest request;
    *request.mutable_key() = Key();
    pb::GetBreakerResponse response;
    const grpc::Status status =
        stub_->GetBreaker(With(kReadToken).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.breaker();
  }
  /// Since the call before, until at least so many.
  static Subject::Stats StatsOf(int calls) {
    subject().TakeStats();
    Subject::Stats sum;
    WaitUntil(
        [&] {
          const Subject::Stats more = subject().TakeStats();
          sum.calls += more.calls;
          sum.failed += more.failed;
          sum.rejected += more.rejected;
          sum.resident_kib = more.resident_kib;
          return sum.calls >= calls;
        },
        "calls of the subject", seconds(20));
    return sum;
  }

  Watchdog watchdog_{seconds(90)};
  const std::unique_ptr<AdminStub> stub_ =
      pb::ResilienceAdmin::NewStub(NewChannel(subject().address()));
  const std::unique_ptr<AdminStub> local_stub_ =
      pb::ResilienceAdmin::NewStub(NewChannel(subject().socket_address()));

  inline static std::unique_ptr<BackendProcess> backend_;
  inline static std::unique_ptr<Subject> subject_;
};

}  // namespace grpc_resilience::test

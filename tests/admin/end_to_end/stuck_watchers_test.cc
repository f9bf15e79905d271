// Watchers that never read, against a service of the test's own: its breakers are
// more than gRPC's windows hold.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "grpc_resilience/admin/v1/admin.grpc.pb.h"
#include "grpc_resilience/admin_service.h"
#include "support/watchdog.h"

namespace grpc_resilience::test {
namespace {

namespace pb = admin::v1;
using std::chrono::hours;
using std::chrono::seconds;

class StuckWatchersTest : public testing::Test {
 protected:
  void Serve(Duration patience) {
    const auto resilience = *Resilience::Create(Config());
    for (int i = 0; i < 1000; ++i) {
      resilience->registry().GetOrCreate(
          {std::to_string(i) + std::string(500, 'x'), ""});
    }
    AdminOptions options;
    options.authoriser = LocalReadOnlyAuthoriser();
    options.max_watchers = 1;
    options.watcher_patience = patience;
    service_ = *AdminService::Create(resilience, std::move(options));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    // Flow control's windows stay as small as they begin.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    stub_ = pb::ResilienceAdmin::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(),
        arguments));
  }
  void TearDown() override {
    service_->EndWatches();
    server_->Shutdown();
  }

  struct Watch {
    explicit Watch(pb::ResilienceAdmin::Stub& stub)
        : reader(stub.WatchBreakers(&context, {})) {}
    int ReadAll() const {
      pb::WatchBreakersResponse message;
      int breakers = 0;
      while (reader->Read(&message)) {
        breakers += message.snapshot().breakers_size();
      }
      return breakers;
    }
    grpc::ClientContext context;
    const std::unique_ptr<grpc::ClientReader<pb::WatchBreakersResponse>> reader;
  };

  const Watchdog watchdog_{seconds(60)};
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<pb::ResilienceAdmin::Stub> stub_;
};

TEST_F(StuckWatchersTest, LoseTheirPlaceAndAreToldSo) {
  Serve(seconds(1));
  Watch stuck(*stub_);
  stuck.reader->WaitForInitialMetadata();
  // There is room for one, until it is given up: it never reads.
  WaitUntil(
      [&] {
        Watch another(*stub_);
        pb::WatchBreakersResponse message;
        const bool let_in = another.reader->Read(&message);
        if (let_in) {
          another.context.TryCancel();
          another.ReadAll();
        }
        const grpc::Status status = another.reader->Finish();
        EXPECT_EQ(status.error_code(),
                  let_in ? grpc::StatusCode::CANCELLED
                         : grpc::StatusCode::RESOURCE_EXHAUSTED);
        return let_in;
      },
      "the place of the watcher that doesn't read", seconds(20));
  // What gRPC had taken for it comes first.
  EXPECT_LT(stuck.ReadAll(), 1000);
  const grpc::Status status = stuck.reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the watcher doesn't read");
}

TEST_F(StuckWatchersTest, DoNotHoldUpTheServersEnd) {
  Serve(hours(1));
  Watch stuck(*stub_);
  stuck.reader->WaitForInitialMetadata();
  service_->EndWatches();
  server_->Shutdown();  // waits for every call
  EXPECT_LT(stuck.ReadAll(), 1000);
  // In its words or, with the server gone, in gRPC's.
  EXPECT_EQ(stuck.reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace grpc_resilience::test

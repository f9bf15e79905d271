#include "interceptor/parent_watch.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "interceptor/hijacked_channel.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kMethod[] = "/grpc_resilience.test.Echo/Unary";

class Owner final : public ParentWatch::Owner {
 public:
  void OnParentWatchDone(grpc::StatusCode code) override {
    if (times_.fetch_add(1) > 0) return;
    code_ = code;
    done_.Notify();
  }
  grpc::StatusCode Wait() {
    done_.WaitForNotification();
    return code_;
  }
  int times() const { return times_.load(); }

 private:
  std::atomic<int> times_{0};
  grpc::StatusCode code_ = grpc::StatusCode::OK;
  absl::Notification done_;
};

// Nothing needs to listen: the call is never sent.
std::shared_ptr<grpc::Channel> Nowhere() {
  return grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
}

TEST(ParentWatchTest, StopEndsItAsCancelled) {
  const auto channel = Nowhere();
  grpc::ClientContext child;
  Owner owner;
  ParentWatch watch(channel.get(), &child, kMethod, &owner);
  watch.Start();
  EXPECT_EQ(owner.times(), 0);
  watch.Stop();
  EXPECT_EQ(owner.Wait(), grpc::StatusCode::CANCELLED);
}

TEST(ParentWatchTest, StopFromSeveralThreadsEndsItOnce) {
  const auto channel = Nowhere();
  grpc::ClientContext child;
  Owner owner;
  ParentWatch watch(channel.get(), &child, kMethod, &owner);
  watch.Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { watch.Stop(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(owner.Wait(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(owner.times(), 1);
}

// Not even those that come after ours: they would count a call that isn't one.
TEST(ParentWatchTest, NoInterceptorSeesIt) {
  int seen = 0;
  PassWork work;
  work.send = [&](Pass) { ++seen; };
  work.receive = [&](Pass) { ++seen; };
  work.received = [&](Pass) { ++seen; };
  const auto channel = HijackedChannel(std::move(work));
  grpc::ClientContext child;
  Owner owner;
  ParentWatch watch(channel.get(), &child, kMethod, &owner);
  watch.Start();
  watch.Stop();
  EXPECT_EQ(owner.Wait(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(seen, 0);
}

// The child's credentials are for calls that are sent.
TEST(ParentWatchTest, LeavesTheChildAsItIs) {
  const auto channel = Nowhere();
  grpc::ClientContext child;
  const auto credentials = grpc::AccessTokenCredentials("token");
  child.set_credentials(credentials);
  Owner owner;
  ParentWatch watch(channel.get(), &child, kMethod, &owner);
  EXPECT_EQ(child.credentials(), credentials);
  watch.Start();
  watch.Stop();
  EXPECT_EQ(owner.Wait(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace grpc_resilience::internal

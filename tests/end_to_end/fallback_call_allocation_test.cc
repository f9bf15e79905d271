// A method without fallbacks pays nothing for those of others. Counts what the calling
// thread allocates, so it is a program of its own.

#include <algorithm>
#include <cstdint>

#include "support/allocation/counting_allocator.h"
#include "support/end_to_end_test.h"
#include "support/scripted_fallback.h"

namespace grpc_resilience::test {
namespace {

class FallbackCallAllocationTest : public EndToEndTest {
 protected:
  /// Of one sync call that succeeds at once.
  static std::int64_t AllocationsOf(
      const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = Echo::NewStub(channel);
    const EchoRequest request = NewRequest();
    EchoResponse response;
    std::int64_t least = 1000000;
    for (int i = 0; i < 50; ++i) {
      grpc::ClientContext context;
      const std::int64_t before = AllocationsOfThisThread();
      const grpc::Status status =
          stub->Idempotent(&context, request, &response);
      const std::int64_t made = AllocationsOfThisThread() - before;
      EXPECT_TRUE(status.ok());
      least = std::min(least, made);
    }
    return least;
  }
  static Config With(const char* method,
                     std::shared_ptr<FallbackSource> source) {
    Config config = RetryConfig();
    if (method != nullptr) {
      config.Method(method) = config.DefaultMethod();
      config.Method(method).fallbacks = {std::move(source)};
    }
    return config;
  }
};

TEST_F(FallbackCallAllocationTest, OnlyMethodsWithFallbacksPay) {
  const auto source = ScriptedFallback::Answering("fallback");
  const std::int64_t without = AllocationsOf(NewChannel(With(nullptr, {})));
  const std::int64_t others =
      AllocationsOf(NewChannel(With("/other.Service/Method", source)));
  const std::int64_t own = AllocationsOf(
      NewChannel(With("/grpc_resilience.test.Echo/Idempotent", source)));
  std::printf(
      "allocations of a call: %d without fallbacks, %d with those of "
      "another method, %d with its own\n",
      static_cast<int>(without), static_cast<int>(others),
      static_cast<int>(own));
  EXPECT_EQ(others, without);
  EXPECT_EQ(own, without);
}

}  // namespace
}  // namespace grpc_resilience::test

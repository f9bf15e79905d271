// A40. What a large request costs while it may be sent again: at most one copy more
// than gRPC alone makes, and nothing afterwards.

#include <malloc.h>

#include <atomic>
#include <thread>

#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

constexpr std::int64_t kBytes = 8 << 20;

// Nothing under the sanitizers, whose allocator has no figures of this kind.
std::int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

/// The most that was in use beyond what was at its making.
class MemoryPeak {
 public:
  MemoryPeak() : before_(BytesInUse()), sampler_([this] { Sample(); }) {}
  ~MemoryPeak() { Stop(); }

  std::int64_t Stop() {
    stopped_ = true;
    if (sampler_.joinable()) sampler_.join();
    return most_ - before_;
  }
  std::int64_t before() const { return before_; }

 private:
  void Sample() {
    while (!stopped_) {
      most_ = std::max(most_, BytesInUse());
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  const std::int64_t before_;
  std::int64_t most_ = before_;
  std::atomic<bool> stopped_{false};
  std::thread sampler_;
};

using LargeRequestTest = WayTest;

TEST_P(LargeRequestTest, CostsOneCopyMoreAtMost) {
  const auto plain = PlainChannel();
  const auto ours = NewChannel(RetryConfig());
  // The connection's own buffers.
  for (const auto& channel : {plain, ours}) {
    EchoRequest request = NewRequest();
    request.set_data(std::string(kBytes, 'x'));
    ASSERT_TRUE(Call(channel, EchoMethod::kIdempotent, request).status.ok());
  }
  EchoRequest request = NewRequest();
  request.set_data(std::string(kBytes, 'x'));
  MemoryPeak plain_peak;
  EXPECT_TRUE(Call(plain, EchoMethod::kIdempotent, request).status.ok());
  const std::int64_t alone = plain_peak.Stop();

  request = FailingRequest(1);
  request.set_data(std::string(kBytes, 'x'));
  MemoryPeak our_peak;
  EXPECT_TRUE(Call(ours, EchoMethod::kIdempotent, request).status.ok());
  EXPECT_LE(our_peak.Stop(), alone + kBytes + (1 << 20));
  EXPECT_EQ(Hits(request).count(), 2);
  WaitUntil([&] { return BytesInUse() - our_peak.before() < kBytes / 4; },
            "what was kept for the call is freed");
}

INSTANTIATE_TEST_SUITE_P(, LargeRequestTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test

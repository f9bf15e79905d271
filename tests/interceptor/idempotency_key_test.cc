#include "interceptor/idempotency_key.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace grpc_resilience::internal {
namespace {

TEST(IdempotencyKeyTest, IsAVersion4Uuid) {
  const std::regex uuid(
      "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = MakeIdempotencyKey(Random::Real());
    EXPECT_TRUE(std::regex_match(key, uuid)) << key;
    EXPECT_TRUE(seen.insert(key).second) << key;
  }
}

class Fixed : public Random {
 public:
  explicit Fixed(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t Bits() override { return bits_; }

 private:
  const std::uint64_t bits_;
};

TEST(IdempotencyKeyTest, KeepsItsShapeAtTheEndsOfTheRange) {
  Fixed zeros(0), ones(~std::uint64_t{0});
  EXPECT_EQ(MakeIdempotencyKey(zeros), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(MakeIdempotencyKey(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

}  // namespace
}  // namespace grpc_resilience::internal

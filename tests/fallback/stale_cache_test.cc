#include "grpc_resilience/stale_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "fallback/asked.h"

namespace grpc_resilience::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(StaleCacheTest, AnswersWithTheLastGoodResponseAndItsAge) {
  StaleCache cache;
  cache.OnResponse(*MakeCall("q"), "old", kStart);
  cache.OnResponse(*MakeCall("q"), "new", kStart + seconds(1));
  const FallbackAnswer answer =
      AnswerOf(&cache, MakeCall("q", kStart + milliseconds(13900)));
  EXPECT_EQ(answer.kind, FallbackAnswer::Kind::kResponse);
  EXPECT_EQ(answer.response, "new");
  EXPECT_EQ(answer.note, "age=12s");
}

// A slow call's response doesn't take the place of one that came after it.
TEST(StaleCacheTest, NewerResponseStays) {
  StaleCache cache;
  cache.OnResponse(*MakeCall("q"), "new", kStart + seconds(1));
  cache.OnResponse(*MakeCall("q"), "old", kStart);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("q", kStart + seconds(2))).response,
            "new");
}

TEST(StaleCacheTest, DeclinesWhatItDoesNotHave) {
  StaleCache cache;
  cache.OnResponse(*MakeCall("q"), "response", kStart);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("other")).kind,
            FallbackAnswer::Kind::kDeclined);
  auto other_method = MakeCall("q");
  other_method->method = "/shop.Catalogue/Other";
  EXPECT_EQ(AnswerOf(&cache, other_method).kind,
            FallbackAnswer::Kind::kDeclined);
  auto other_target = MakeCall("q");
  other_target->target = "catalogue-eu:443";
  EXPECT_EQ(AnswerOf(&cache, other_target).kind,
            FallbackAnswer::Kind::kDeclined);
  EXPECT_EQ(cache.stats().hits, 0u);
  EXPECT_EQ(cache.stats().misses, 3u);
}

TEST(StaleCacheTest, TooOldIsGone) {
  StaleCacheOptions options;
  options.max_age = minutes(10);
  StaleCache cache(options);
  cache.OnResponse(*MakeCall("q"), "response", kStart);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("q", kStart + minutes(10))).response,
            "response");
  EXPECT_EQ(
      AnswerOf(&cache, MakeCall("q", kStart + minutes(10) + milliseconds(1)))
          .kind,
      FallbackAnswer::Kind::kDeclined);
  EXPECT_EQ(cache.stats().values, 0u);
}

TEST(StaleCacheTest, LongestAgeDoesNotOverflow) {
  StaleCacheOptions options;
  options.max_age = Duration::max();
  StaleCache cache(options);
  cache.OnResponse(*MakeCall("q"), "response", kStart);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("q", TimePoint::max())).response,
            "response");
}

TEST(StaleCacheTest, ChosenMetadataBelongsToTheKey) {
  StaleCacheOptions options;
  options.metadata_keys = {"tenant"};
  StaleCache cache(options);
  const auto with = [](const char* tenant, const char* trace) {
    auto call = MakeCall("q");
    call->metadata = {{"tenant", tenant}, {"trace", trace}};
    return call;
  };
  cache.OnResponse(*with("blue", "1"), "for blue", kStart);
  cache.OnResponse(*with("red", "2"), "for red", kStart);
  EXPECT_EQ(AnswerOf(&cache, with("blue", "3")).response, "for blue");
  EXPECT_EQ(AnswerOf(&cache, with("red", "4")).response, "for red");
  EXPECT_EQ(AnswerOf(&cache, MakeCall("q")).kind,
            FallbackAnswer::Kind::kDeclined);
  EXPECT_THAT(cache.metadata_keys(), ElementsAre("tenant"));
}

// Parts that only together read the same are different keys.
TEST(StaleCacheTest, KeysAreInjective) {
  StaleCache cache;
  auto one = MakeCall("c");
  one->target = "a";
  one->method = "b";
  auto other = MakeCall("bc");
  other->target = "a";
  other->method = "";
  cache.OnResponse(*one, "response", kStart);
  EXPECT_EQ(AnswerOf(&cache, other).kind, FallbackAnswer::Kind::kDeclined);
}

TEST(StaleCacheTest, LeastRecentlyUsedGoFirst) {
  StaleCacheOptions options;
  options.max_bytes = 16384;  // one stripe
  StaleCache cache(options);
  const std::string response(1000, 'x');
  for (int i = 0; i < 10; ++i) {
    cache.OnResponse(*MakeCall(std::to_string(i)), response, kStart);
  }
  // 0 is used, so 1, 2, … go before it.
  EXPECT_EQ(AnswerOf(&cache, MakeCall("0")).response, response);
  for (int i = 10; i < 20; ++i) {
    cache.OnResponse(*MakeCall(std::to_string(i)), response, kStart);
  }
  EXPECT_EQ(AnswerOf(&cache, MakeCall("0")).response, response);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("1")).kind,
            FallbackAnswer::Kind::kDeclined);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("19")).response, response);
  const StaleCache::Stats stats = cache.stats();
  EXPECT_LE(stats.bytes, options.max_bytes);
  EXPECT_EQ(stats.values + stats.evictions, 20u);
}

TEST(StaleCacheTest, WhatIsTooLargeIsNotKept) {
  StaleCacheOptions options;
  options.max_bytes = 16384;
  StaleCache cache(options);
  cache.OnResponse(*MakeCall("other"), "stays", kStart);
  const std::size_t bytes = cache.stats().bytes;
  cache.OnResponse(*MakeCall("q"), std::string(20000, 'x'), kStart);
  EXPECT_EQ(cache.stats().values, 1u);
  EXPECT_EQ(cache.stats().bytes, bytes);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("other")).response, "stays");
}

// A value that shrinks is counted as it is.
TEST(StaleCacheTest, BytesFollowTheValues) {
  StaleCache cache;
  cache.OnResponse(*MakeCall("q"), std::string(100000, 'x'), kStart);
  EXPECT_GT(cache.stats().bytes, 100000u);
  cache.OnResponse(*MakeCall("q"), "small", kStart + seconds(1));
  EXPECT_LT(cache.stats().bytes, 1000u);
  cache.Clear();
  EXPECT_EQ(cache.stats().bytes, 0u);
  EXPECT_EQ(AnswerOf(&cache, MakeCall("q")).kind,
            FallbackAnswer::Kind::kDeclined);
}

TEST(StaleCacheTest, FaultsNameFieldAndValue) {
  StaleCacheOptions options;
  options.max_age = Duration::zero();
  options.max_bytes = 0;
  options.revalidation_interval = -seconds(1);
  options.revalidation_timeout = Duration::zero();
  EXPECT_THAT(StaleCache(options).Faults(),
              ElementsAre("max_age = 0 s: must be > 0",
                          "max_bytes = 0: must be >= 4096",
                          "revalidation_interval = -1 s: must be > 0",
                          "revalidation_timeout = 0 s: must be > 0"));
  EXPECT_THAT(StaleCache().Faults(), IsEmpty());
}

TEST(StaleCacheTest, ManyThreadsAtOnce) {
  StaleCacheOptions options;
  options.max_bytes = 1 << 20;
  StaleCache cache(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 5000; ++i) {
        const auto call = MakeCall(std::to_string((i * 7 + t) % 3000));
        if (i % 2 == 0) {
          cache.OnResponse(*call, call->request + std::string(300, 'x'),
                           kStart);
        } else {
          const FallbackAnswer answer = AnswerOf(&cache, call);
          if (answer.kind == FallbackAnswer::Kind::kResponse) {
            EXPECT_EQ(answer.response.substr(0, call->request.size()),
                      call->request);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.stats().bytes, options.max_bytes);
  EXPECT_GT(cache.stats().evictions, 0u);
}

}  // namespace
}  // namespace grpc_resilience::test

// A fallback that answers with the last good response to the same request.
//
//   StaleCacheOptions options;
//   options.max_age = std::chrono::minutes(10);
//   options.metadata_keys = {"accept-language"};     // part of what "same" means
//   auto cache = std::make_shared<StaleCache>(options);
//   config.Method("/shop.Catalogue/GetPage").fallbacks = {cache};
//
// A value is marked: "grpc-resilience-fallback: stale_cache; age=12s". With
//
//   options.revalidation_interval = std::chrono::seconds(2);
//   cache->RevalidateThrough("catalogue:443", channel);
//
// values that were handed out are asked for again until the target gives a new one.

#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/fallback.h"

namespace grpc_resilience {

namespace internal {
class Revalidator;
class StaleStore;
}  // namespace internal

/// A value type. Validated by Resilience::Create.
struct StaleCacheOptions {
  /// Older values aren't handed out. Range: > 0. Default: 1 h.
  Duration max_age = std::chrono::hours(1);
  /// Memory for all values, keys and what goes with them; the least recently used go
  /// first. A value larger than 1/16 of it may not be kept. Range: ≥ 4096.
  /// Default: 64 MiB.
  std::size_t max_bytes = std::size_t{64} << 20;
  /// Metadata that belongs to the key, beside target, method and request. Name here
  /// whatever makes answers differ, such as the user's token: calls that differ only
  /// in other metadata share a value. Default: none.
  std::vector<std::string> metadata_keys;
  /// How often values that were handed out are asked for again, on a thread that
  /// runs only while there are some. Range: > 0. Default unset: never.
  std::optional<Duration> revalidation_interval;
  /// Deadline of such a call. Range: > 0. Default: 5 s.
  Duration revalidation_timeout = std::chrono::seconds(5);
};

/// Kind "stale_cache". May be given to several methods, which share its memory.
/// Answers at once. This type is safe to use from several threads at once.
class StaleCache : public FallbackSource {
 public:
  explicit StaleCache(StaleCacheOptions options = {});
  ~StaleCache() override;

  /// Calls that revalidate values of `target` (as named in CreateChannel) go through
  /// that protected channel, so its breaker decides whether they are sent. Held
  /// weakly. They carry the metadata of the key and no other.
  void RevalidateThrough(const std::string& target,
                         const std::shared_ptr<grpc::Channel>& channel);

  /// Forgets every value.
  void Clear();

  /// A value type.
  struct Stats {
    std::size_t values = 0;
    std::size_t bytes = 0;  ///< as counted against max_bytes
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;  ///< too old ones included
    std::uint64_t evictions = 0;
    std::uint64_t revalidations = 0;  ///< values replaced in the background
  };
  Stats stats() const;

  std::string_view kind() const override { return "stale_cache"; }
  std::vector<std::string> metadata_keys() const override {
    return options_.metadata_keys;
  }
  void Start(const std::shared_ptr<const FailedCall>& call,
             FallbackReply reply) override;
  bool keeps_responses() const override { return true; }
  void OnResponse(const FallbackRequest& request, std::string_view response,
                  TimePoint now) override;
  std::vector<std::string> Faults() const override;

 private:
  std::string KeyOf(const FallbackRequest& request) const;

  const StaleCacheOptions options_;
  const std::shared_ptr<internal::StaleStore> store_;
  const std::shared_ptr<internal::Revalidator> revalidator_;
};

}  // namespace grpc_resilience

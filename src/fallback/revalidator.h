// Asks again for values that a stale cache has handed out, until the target gives new
// ones. Its thread runs only while there are such values.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "fallback/stale_store.h"
#include "grpc_resilience/fallback.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. Its thread holds it, so it
/// outlives its cache by the call under way.
class Revalidator : public std::enable_shared_from_this<Revalidator> {
 public:
  struct Settings {
    Duration interval;
    Duration timeout;
    Duration max_age;
    std::vector<std::string> metadata_keys;
  };

  Revalidator(Settings settings, std::shared_ptr<StaleStore> store)
      : settings_(std::move(settings)), store_(std::move(store)) {}

  void UseChannel(const std::string& target,
                  const std::shared_ptr<grpc::Channel>& channel);

  /// The value of `key`, which `call` was answered with, wants replacing.
  void Add(const std::string& key,
           const std::shared_ptr<const FailedCall>& call);

  /// Nothing is sent from now on; what is under way is cancelled.
  void Stop();

  /// Values replaced so far.
  std::uint64_t replaced() const {
    return replaced_.load(std::memory_order_relaxed);
  }

 private:
  enum class Result { kReplaced, kFailed, kRejected };
  struct Wanted {
    std::string key;
    std::shared_ptr<const FailedCall> call;
  };

  void Loop();
  std::vector<Wanted> TakeRound();
  void Round();
  std::shared_ptr<grpc::Channel> ChannelFor(const std::string& target);
  Result Send(const FailedCall& call,
              const std::shared_ptr<grpc::Channel>& channel);
  void Forget(const std::string& key);

  // More are not kept in mind: ordinary calls bring them up to date as well.
  static constexpr std::size_t kMaxWanted = 1000;

  const Settings settings_;
  const std::shared_ptr<StaleStore> store_;
  std::atomic<std::uint64_t> replaced_{0};
  absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ClientContext* under_way_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::flat_hash_map<std::string, std::shared_ptr<const FailedCall>> wanted_
      ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal

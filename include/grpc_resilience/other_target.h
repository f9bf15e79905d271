// A fallback that asks another target: a second channel, usually protected like the
// first and so with a breaker of its own.
//
//   auto other = std::make_shared<OtherTarget>();
//   config.Method("/shop.Catalogue/*").fallbacks = {other};
//   …
//   auto replica = CreateChannel(*resilience, "catalogue-replica:443", credentials);
//   other->UseChannel(replica);          // the application keeps the channel

#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/fallback.h"

namespace grpc_resilience {

/// A value type.
struct OtherTargetOptions {
  /// Of the caller's metadata, sent to the other target as well. Default: none;
  /// credentials are the other channel's own.
  std::vector<std::string> metadata_keys;
};

/// Kind "other_target". The call to the other target has what is left of the time of
/// this fallback, and no fallbacks of its own; when it fails, this one has declined.
/// This type is safe to use from several threads at once.
class OtherTarget : public FallbackSource {
 public:
  explicit OtherTarget(OtherTargetOptions options = {})
      : options_(std::move(options)) {}

  /// Held weakly: once the application lets go of it, the source declines, as it does
  /// before the first UseChannel.
  void UseChannel(const std::shared_ptr<grpc::Channel>& channel);

  std::string_view kind() const override { return "other_target"; }
  std::vector<std::string> metadata_keys() const override {
    return options_.metadata_keys;
  }
  void Start(const std::shared_ptr<const FailedCall>& call,
             FallbackReply reply) override;

 private:
  const OtherTargetOptions options_;
  absl::Mutex mu_;
  std::weak_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience

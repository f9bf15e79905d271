// What the calls of one method need to know of its fallbacks, worked out once.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_resilience/config.h"
#include "grpc_resilience/fallback.h"
#include "interceptor/attempt.h"
#include "interceptor/message_type.h"

namespace grpc_resilience::internal {

/// Immutable, so safe to use from several threads at once.
class FallbackPlan {
 public:
  /// Null for a method without fallbacks. `policy` and `types` outlive it.
  static std::unique_ptr<const FallbackPlan> Make(const MethodPolicy& policy,
                                                  const MethodTypes& types);

  const std::vector<std::shared_ptr<FallbackSource>>& sources() const {
    return policy_->fallbacks;
  }
  const FallbackRules& rules() const { return policy_->fallback_rules; }
  bool keeps_responses() const { return keeps_responses_; }
  const std::string& key_header() const { return key_header_; }

  /// `sent` is all that is looked at of the request: its message and metadata.
  void Describe(const AttemptRequest& sent, FallbackRequest* request) const;

  /// Tells those who keep responses; what they throw stays here.
  void Keep(const FallbackRequest& request, const std::string& response,
            TimePoint now) const;

  /// Why `answer` is no answer for the method; empty: it is one.
  std::string Reject(const FallbackAnswer& answer) const;

 private:
  FallbackPlan(const MethodPolicy& policy, const MethodTypes& types);

  const MethodPolicy* policy_;
  const MethodTypes* types_;
  bool keeps_responses_ = false;
  bool request_has_maps_ = false;
  std::vector<std::string> metadata_keys_;
  std::string key_header_;
};

}  // namespace grpc_resilience::internal

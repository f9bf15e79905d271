#include "interceptor/fallback_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "interceptor/message_bytes.h"

namespace grpc_resilience::internal {

std::unique_ptr<const FallbackPlan> FallbackPlan::Make(
    const MethodPolicy& policy, const MethodTypes& types) {
  if (policy.fallbacks.empty()) return nullptr;
  return std::unique_ptr<const FallbackPlan>(new FallbackPlan(policy, types));
}

FallbackPlan::FallbackPlan(const MethodPolicy& policy, const MethodTypes& types)
    : policy_(&policy), types_(&types) {
  for (const auto& source : policy.fallbacks) {
    keeps_responses_ = keeps_responses_ || source->keeps_responses();
    for (std::string& key : source->metadata_keys()) {
      metadata_keys_.push_back(std::move(key));
    }
  }
  std::sort(metadata_keys_.begin(), metadata_keys_.end());
  metadata_keys_.erase(
      std::unique(metadata_keys_.begin(), metadata_keys_.end()),
      metadata_keys_.end());
  key_header_ = policy.retry.idempotency_key_header.value_or("");
  request_has_maps_ =
      types.request != nullptr && HasMaps(*types.request->GetDescriptor());
}

void FallbackPlan::Describe(const AttemptRequest& sent,
                            FallbackRequest* request) const {
  if (sent.object != nullptr) {
    request->request = ToBytes(*sent.object);
  } else {
    request->request = ToBytes(sent.bytes);
    if (request_has_maps_) {
      request->request =
          InOneOrder(*types_->request, std::move(request->request));
    }
  }
  if (sent.metadata == nullptr) return;
  for (const std::string& key : metadata_keys_) {
    const auto [begin, end] = sent.metadata->equal_range(key);
    request->metadata.insert(request->metadata.end(), begin, end);
  }
  if (key_header_.empty()) return;
  const auto found = sent.metadata->find(key_header_);
  if (found != sent.metadata->end()) request->idempotency_key = found->second;
}

void FallbackPlan::Keep(const FallbackRequest& request,
                        const std::string& response, TimePoint now) const {
  for (const auto& source : sources()) {
    if (!source->keeps_responses()) continue;
    try {
      source->OnResponse(request, response, now);
    } catch (...) {
      // A call that succeeded is none the worse for it.
    }
  }
}

std::string FallbackPlan::Reject(const FallbackAnswer& answer) const {
  if (answer.kind == FallbackAnswer::Kind::kStatus) {
    return answer.code == StatusCode::OK ? "answered OK without a response"
                                         : "";
  }
  if (types_->response == nullptr) return "";
  const std::string& type = types_->response->GetDescriptor()->full_name();
  if (!answer.type.empty() && answer.type != type) {
    return absl::StrCat("answered with ", answer.type, " where the method has ",
                        type);
  }
  const std::unique_ptr<google::protobuf::Message> parsed(
      types_->response->New());
  if (!parsed->ParseFromString(answer.response)) {
    return absl::StrCat("answered with bytes that are no ", type);
  }
  return "";
}

}  // namespace grpc_resilience::internal

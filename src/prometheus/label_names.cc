#include "prometheus/label_names.h"

#include <memory>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"

namespace grpc_resilience::internal {

const LabelName& LabelNames::Find(std::string_view name) const {
  const LabelName* const found = names_.Find(absl::HashOf(name), name);
  return found != nullptr ? *found : other_;
}

const LabelName& LabelNames::FindOrAdd(std::string_view name) {
  const std::size_t hash = absl::HashOf(name);
  if (const LabelName* const found = names_.Find(hash, name)) return *found;
  if (full_.load(std::memory_order_relaxed) || name == other_.name) {
    return other_;
  }
  absl::MutexLock lock(&mu_);
  if (const LabelName* const found = names_.Find(hash, name)) return *found;
  if (size_ == most_) {
    full_.store(true, std::memory_order_relaxed);
    return other_;
  }
  ++size_;
  std::string text =
      absl::CHexEscape(absl::string_view(name.data(), name.size()));
  return names_.Insert(hash, std::make_unique<const LabelName>(LabelName{
                                 std::string(name), std::move(text)}));
}

}  // namespace grpc_resilience::internal

#include "grpc_resilience/stale_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/duration_text.h"
#include "fallback/revalidator.h"
#include "fallback/stale_store.h"

namespace grpc_resilience {
namespace {

constexpr std::size_t kLeastBytes = 4096;

// So that no two lists of parts give the same key.
void AddPart(std::string_view part, std::string* key) {
  const std::uint64_t size = part.size();
  key->append(reinterpret_cast<const char*>(&size), sizeof size);
  key->append(part);
}

void CheckPositive(const char* field, Duration value,
                   std::vector<std::string>* faults) {
  if (value > Duration::zero()) return;
  faults->push_back(absl::StrCat(field, " = ", internal::DurationText(value),
                                 ": must be > 0"));
}

std::shared_ptr<internal::Revalidator> MakeRevalidator(
    const StaleCacheOptions& options,
    std::shared_ptr<internal::StaleStore> store) {
  if (!options.revalidation_interval) return nullptr;
  internal::Revalidator::Settings settings;
  settings.interval = *options.revalidation_interval;
  settings.timeout = options.revalidation_timeout;
  settings.max_age = options.max_age;
  settings.metadata_keys = options.metadata_keys;
  return std::make_shared<internal::Revalidator>(std::move(settings),
                                                 std::move(store));
}

}  // namespace

StaleCache::StaleCache(StaleCacheOptions options)
    : options_(std::move(options)),
      store_(std::make_shared<internal::StaleStore>(options_.max_bytes)),
      revalidator_(MakeRevalidator(options_, store_)) {}

StaleCache::~StaleCache() {
  if (revalidator_ != nullptr) revalidator_->Stop();
}

void StaleCache::RevalidateThrough(
    const std::string& target, const std::shared_ptr<grpc::Channel>& channel) {
  if (revalidator_ != nullptr) revalidator_->UseChannel(target, channel);
}

void StaleCache::Clear() { store_->Clear(); }

StaleCache::Stats StaleCache::stats() const {
  const internal::StaleStore::Totals totals = store_->totals();
  Stats stats;
  stats.values = totals.values;
  stats.bytes = totals.bytes;
  stats.hits = totals.hits;
  stats.misses = totals.misses;
  stats.evictions = totals.evictions;
  if (revalidator_ != nullptr) stats.revalidations = revalidator_->replaced();
  return stats;
}

std::string StaleCache::KeyOf(const FallbackRequest& request) const {
  std::string key;
  key.reserve(request.target.size() + request.method.size() +
              request.request.size() + 64);
  AddPart(request.target, &key);
  AddPart(request.method, &key);
  for (const auto& [name, value] : request.metadata) {
    // The method's other sources may have named more.
    if (std::find(options_.metadata_keys.begin(), options_.metadata_keys.end(),
                  name) == options_.metadata_keys.end()) {
      continue;
    }
    AddPart(name, &key);
    AddPart(value, &key);
  }
  key.append(request.request);
  return key;
}

void StaleCache::Start(const std::shared_ptr<const FailedCall>& call,
                       FallbackReply reply) {
  const std::string key = KeyOf(*call);
  auto found = store_->Get(key, SaturatingAdd(call->now, -options_.max_age));
  if (!found) {
    reply.Answer(FallbackAnswer::Declined());
    return;
  }
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(
      std::max(call->now - found->stored, Duration::zero()));
  if (revalidator_ != nullptr) revalidator_->Add(key, call);
  reply.Answer(FallbackAnswer::Response(
      std::move(found->value), {}, absl::StrCat("age=", age.count(), "s")));
}

void StaleCache::OnResponse(const FallbackRequest& request,
                            std::string_view response, TimePoint now) {
  store_->Put(KeyOf(request), response, now);
}

std::vector<std::string> StaleCache::Faults() const {
  std::vector<std::string> faults;
  CheckPositive("max_age", options_.max_age, &faults);
  if (options_.max_bytes < kLeastBytes) {
    faults.push_back(absl::StrCat("max_bytes = ", options_.max_bytes,
                                  ": must be >= ", kLeastBytes));
  }
  if (options_.revalidation_interval) {
    CheckPositive("revalidation_interval", *options_.revalidation_interval,
                  &faults);
  }
  CheckPositive("revalidation_timeout", options_.revalidation_timeout, &faults);
  return faults;
}

}  // namespace grpc_resilience

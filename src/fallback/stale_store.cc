#include "fallback/stale_store.h"

#include <algorithm>
#include <utility>

namespace grpc_resilience::internal {
namespace {

// With fewer bytes than this a stripe would be too small for its values.
constexpr std::size_t kLeastBytesPerStripe = std::size_t{256} << 10;
// What malloc adds to a block: a word, and the size rounded up.
constexpr std::size_t kBlock = 24;
// A slot of the hash set and its control byte, when it has just grown to twice its
// size and the old half is still there.
constexpr std::size_t kSlots = 32;

std::size_t BytesOf(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0
                                                   : text.capacity() + kBlock;
}

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

StaleStore::StaleStore(std::size_t max_bytes)
    : used_stripes_(std::clamp<std::size_t>(max_bytes / kLeastBytesPerStripe, 1,
                                            kStripes)),
      bytes_per_stripe_(max_bytes / used_stripes_) {}

StaleStore::~StaleStore() = default;

std::size_t StaleStore::Cost(const Entry& entry) {
  return sizeof(Entry) + kBlock + kSlots + BytesOf(entry.key) +
         BytesOf(entry.value);
}

StaleStore::Stripe& StaleStore::StripeOf(std::string_view key) {
  // Not the bits that the set goes by.
  return stripes_[(ByKey()(View(key)) >> 40) % used_stripes_];
}

const StaleStore::Stripe& StaleStore::StripeOf(std::string_view key) const {
  return stripes_[(ByKey()(View(key)) >> 40) % used_stripes_];
}

void StaleStore::Put(std::string key, std::string_view value, TimePoint now) {
  Stripe& stripe = StripeOf(key);
  absl::MutexLock lock(&stripe.mu);
  Entry* entry = nullptr;
  if (const auto found = stripe.entries.find(absl::string_view(key));
      found != stripe.entries.end()) {
    entry = found->get();
    if (entry->stored > now) return;
    stripe.bytes -= Cost(*entry);
    stripe.UnlinkLocked(entry);
  } else {
    key.shrink_to_fit();
    auto made = std::make_unique<Entry>();
    made->key = std::move(key);
    entry = made.get();
    stripe.entries.insert(std::move(made));
  }
  entry->value.assign(value);
  if (entry->value.capacity() > 2 * value.size()) entry->value.shrink_to_fit();
  entry->stored = now;
  stripe.bytes += Cost(*entry);
  stripe.LinkLocked(entry);
  if (Cost(*entry) > bytes_per_stripe_) {
    // The others stay.
    stripe.RemoveLocked(entry);
    return;
  }
  stripe.ShrinkLocked(bytes_per_stripe_);
}

std::optional<StaleStore::Found> StaleStore::Get(std::string_view key,
                                                 TimePoint oldest) {
  Stripe& stripe = StripeOf(key);
  absl::MutexLock lock(&stripe.mu);
  const auto found = stripe.entries.find(View(key));
  if (found == stripe.entries.end()) {
    ++stripe.misses;
    return std::nullopt;
  }
  Entry* const entry = found->get();
  if (entry->stored < oldest) {
    ++stripe.misses;
    stripe.RemoveLocked(entry);
    return std::nullopt;
  }
  ++stripe.hits;
  // Its neighbours in the list, cold memory, are left alone.
  entry->used = true;
  return Found{entry->value, entry->stored};
}

std::optional<TimePoint> StaleStore::StoredAt(std::string_view key) const {
  const Stripe& stripe = StripeOf(key);
  absl::MutexLock lock(&stripe.mu);
  const auto found = stripe.entries.find(View(key));
  if (found == stripe.entries.end()) return std::nullopt;
  return (*found)->stored;
}

void StaleStore::Clear() {
  for (Stripe& stripe : stripes_) {
    absl::MutexLock lock(&stripe.mu);
    Entries().swap(stripe.entries);
    stripe.newest = stripe.oldest = nullptr;
    stripe.bytes = 0;
  }
}

StaleStore::Totals StaleStore::totals() const {
  Totals totals;
  for (const Stripe& stripe : stripes_) {
    absl::MutexLock lock(&stripe.mu);
    totals.values += stripe.entries.size();
    totals.bytes += stripe.bytes;
    totals.hits += stripe.hits;
    totals.misses += stripe.misses;
    totals.evictions += stripe.evictions;
  }
  return totals;
}

void StaleStore::Stripe::LinkLocked(Entry* entry) {
  entry->newer = nullptr;
  entry->older = newest;
  (newest != nullptr ? newest->newer : oldest) = entry;
  newest = entry;
}

void StaleStore::Stripe::UnlinkLocked(Entry* entry) {
  (entry->newer != nullptr ? entry->newer->older : newest) = entry->older;
  (entry->older != nullptr ? entry->older->newer : oldest) = entry->newer;
}

void StaleStore::Stripe::RemoveLocked(Entry* entry) {
  bytes -= Cost(*entry);
  UnlinkLocked(entry);
  entries.erase(entries.find(absl::string_view(entry->key)));
}

void StaleStore::Stripe::ShrinkLocked(std::size_t limit) {
  while (bytes > limit && oldest != nullptr) {
    Entry* const entry = oldest;
    if (entry->used) {
      entry->used = false;
      UnlinkLocked(entry);
      LinkLocked(entry);
      continue;
    }
    RemoveLocked(entry);
    ++evictions;
  }
}

}  // namespace grpc_resilience::internal

// Responses by key under a cap of bytes. Those that were neither put nor used for the
// longest time go first (LRU by second chance: a use only sets a mark). Striped: calls
// with different keys rarely meet at a lock.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class StaleStore {
 public:
  explicit StaleStore(std::size_t max_bytes);
  ~StaleStore();
  StaleStore(const StaleStore&) = delete;
  StaleStore& operator=(const StaleStore&) = delete;

  /// An older value than the one that is there changes nothing.
  void Put(std::string key, std::string_view value, TimePoint now);

  struct Found {
    std::string value;
    TimePoint stored;
  };
  /// Empty when there is no value, or none that was stored at `oldest` or later.
  std::optional<Found> Get(std::string_view key, TimePoint oldest);

  /// When the value was stored. Not a use of it.
  std::optional<TimePoint> StoredAt(std::string_view key) const;

  void Clear();

  struct Totals {
    std::size_t values = 0;
    std::size_t bytes = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;
  };
  Totals totals() const;

 private:
  struct Entry {
    std::string key;
    std::string value;
    TimePoint stored;
    bool used = false;  // since it was last put, or passed over as the oldest
    Entry* newer = nullptr;
    Entry* older = nullptr;
  };
  struct ByKey {
    using is_transparent = void;
    std::size_t operator()(absl::string_view key) const {
      return absl::Hash<absl::string_view>()(key);
    }
    std::size_t operator()(const std::unique_ptr<Entry>& entry) const {
      return (*this)(absl::string_view(entry->key));
    }
    bool operator()(const std::unique_ptr<Entry>& a,
                    const std::unique_ptr<Entry>& b) const {
      return a->key == b->key;
    }
    bool operator()(const std::unique_ptr<Entry>& a,
                    absl::string_view b) const {
      return a->key == b;
    }
    bool operator()(absl::string_view a,
                    const std::unique_ptr<Entry>& b) const {
      return a == b->key;
    }
  };
  using Entries = absl::flat_hash_set<std::unique_ptr<Entry>, ByKey, ByKey>;

  struct Stripe {
    mutable absl::Mutex mu;
    Entries entries ABSL_GUARDED_BY(mu);
    Entry* newest ABSL_GUARDED_BY(mu) = nullptr;
    Entry* oldest ABSL_GUARDED_BY(mu) = nullptr;
    std::size_t bytes ABSL_GUARDED_BY(mu) = 0;
    std::uint64_t hits ABSL_GUARDED_BY(mu) = 0;
    std::uint64_t misses ABSL_GUARDED_BY(mu) = 0;
    std::uint64_t evictions ABSL_GUARDED_BY(mu) = 0;

    void LinkLocked(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void UnlinkLocked(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void RemoveLocked(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void ShrinkLocked(std::size_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  };
  static constexpr std::size_t kStripes = 16;

  static std::size_t Cost(const Entry& entry);
  Stripe& StripeOf(std::string_view key);
  const Stripe& StripeOf(std::string_view key) const;

  const std::size_t used_stripes_;
  const std::size_t bytes_per_stripe_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace grpc_resilience::internal

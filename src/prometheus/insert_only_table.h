// A hash table that is read for every event and written a few times: finding takes
// no lock, makes no copy and writes nothing. Nothing is ever removed.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace grpc_resilience::internal {

/// `Entry` has Matches(const Key&). Safe to use from several threads at once, but
/// for Insert: one at a time.
template <typename Entry>
class InsertOnlyTable {
 public:
  /// For `most` entries at most.
  explicit InsertOnlyTable(std::size_t most) : slots_(SlotsFor(most)) {}

  /// Null when there is none.
  template <typename Key>
  Entry* Find(std::size_t hash, const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      Entry* const entry = slots_[i].load(std::memory_order_acquire);
      if (entry == nullptr || entry->Matches(key)) return entry;
    }
  }

  /// Of a key that isn't in it yet.
  Entry& Insert(std::size_t hash, std::unique_ptr<Entry> entry) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].load(std::memory_order_relaxed) != nullptr) {
      i = (i + 1) & mask;
    }
    Entry* const inserted = entry.get();
    entries_.push_back(std::move(entry));
    slots_[i].store(inserted, std::memory_order_release);
    return *inserted;
  }

  /// In the order in which they came; for who keeps Insert away.
  const std::vector<std::unique_ptr<Entry>>& entries() const {
    return entries_;
  }

 private:
  // At most half full, so that a probe is short and always ends.
  static std::size_t SlotsFor(std::size_t most) {
    std::size_t slots = 4;
    while (slots < 2 * most) slots *= 2;
    return slots;
  }

  std::vector<std::atomic<Entry*>> slots_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace grpc_resilience::internal

#include "queue/queue_row.h"

#include <cstring>
#include <string_view>

namespace grpc_resilience::internal {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

WallTime FromMs(std::int64_t ms) {
  return WallTime(std::chrono::milliseconds(ms));
}

// --- Metadata as one blob: each text after its size.

void AddText(std::string_view text, std::string* blob) {
  const auto size = static_cast<std::uint32_t>(text.size());
  blob->append(reinterpret_cast<const char*>(&size), sizeof size);
  blob->append(text);
}

bool TakeText(std::string_view* blob, std::string* text) {
  std::uint32_t size = 0;
  if (blob->size() < sizeof size) return false;
  std::memcpy(&size, blob->data(), sizeof size);
  blob->remove_prefix(sizeof size);
  if (blob->size() < size) return false;
  *text = std::string(blob->substr(0, size));
  blob->remove_prefix(size);
  return true;
}

Metadata FromBlob(std::string_view blob) {
  Metadata metadata;
  std::string key;
  std::string value;
  while (TakeText(&blob, &key) && TakeText(&blob, &value)) {
    metadata.emplace_back(std::move(key), std::move(value));
  }
  return metadata;
}

}  // namespace

std::string ToBlob(const Metadata& metadata) {
  std::string blob;
  for (const auto& [key, value] : metadata) {
    AddText(key, &blob);
    AddText(value, &blob);
  }
  return blob;
}

QueueEntry MakeEntry(const SqliteStatement& row) {
  QueueEntry entry;
  entry.id = row.Number(0);
  entry.target = row.Bytes(1);
  entry.method = row.Bytes(2);
  entry.request = row.Bytes(3);
  entry.metadata = FromBlob(row.Bytes(4));
  entry.ordering_key = row.Bytes(5);
  entry.queued = FromMs(row.Number(6));
  entry.expires = FromMs(row.Number(7));
  entry.not_before = FromMs(row.Number(8));
  entry.deliveries = static_cast<int>(row.Number(9));
  entry.last_error = row.Bytes(10);
  entry.dead = row.Number(11) != 0;
  entry.owner = row.Bytes(12);
  entry.leased_until = FromMs(row.Number(13));
  entry.fence = row.Number(14);
  return entry;
}

}  // namespace grpc_resilience::internal

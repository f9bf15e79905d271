#include "tools/resiliencectl/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"

namespace grpc_resilience::tools {
namespace {

// Insertions, deletions and replacements that lead from one to the other.
std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearNames(const std::string& name,
                                   const std::vector<std::string>& names,
                                   std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> near;
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  for (const std::string& other : names) {
    const bool part = !name.empty() && (absl::StrContains(other, name) ||
                                        absl::StrContains(name, other));
    const std::size_t distance = part ? 1 : EditDistance(name, other);
    if (distance <= limit) near.emplace_back(distance, other);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.size() > most) near.resize(most);
  std::vector<std::string> result;
  result.reserve(near.size());
  for (auto& [distance, other] : near) result.push_back(std::move(other));
  return result;
}

}  // namespace grpc_resilience::tools

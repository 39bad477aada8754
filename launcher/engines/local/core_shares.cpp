#include "launcher/engines/local/core_shares.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::launcher {

std::vector<std::vector<int>> ShareOut(const std::vector<int>& cores, int ranks) {
  const auto share = static_cast<std::ptrdiff_t>(cores.size()) / std::max(1, ranks);
  std::vector<std::vector<int>> shares;
  for (auto from = cores.begin(); share > 0 && ranks > 0; from += share, --ranks) {
    shares.emplace_back(from, from + share);
  }
  return shares;
}

std::string CoreList(const std::vector<int>& cores) {
  auto sorted = cores;
  std::ranges::sort(sorted);
  std::string list;
  for (auto first = sorted.begin(); first != sorted.end();) {
    auto last = first;
    while (last + 1 != sorted.end() && *(last + 1) <= *last + 1) ++last;
    if (!list.empty()) list += ',';
    list += *first == *last ? fmt::format("{}", *first) : fmt::format("{}-{}", *first, *last);
    first = last + 1;
  }
  return list;
}

std::vector<std::string> CoreListsOf(const std::vector<PlacedRank>& ranks,
                                     const std::map<int, std::vector<int>>& cores_of) {
  std::map<int, std::vector<int>> ranks_of;  // node -> its ranks in rising order
  for (const auto& each : ranks) ranks_of[each.node].push_back(each.rank);
  std::map<int, std::vector<std::vector<int>>> shares_of;
  for (auto& [node, numbers] : ranks_of) {
    std::ranges::sort(numbers);
    const auto cores = cores_of.find(node);
    if (cores != cores_of.end()) shares_of[node] = ShareOut(cores->second, static_cast<int>(numbers.size()));
  }
  std::vector<std::string> lists;
  for (const auto& [rank, node] : ranks) {
    const auto& numbers = ranks_of[node];
    const auto at = static_cast<std::size_t>(std::ranges::find(numbers, rank) - numbers.begin());
    const auto& shares = shares_of[node];
    lists.push_back(at < shares.size() ? CoreList(shares[at]) : std::string());
  }
  return lists;
}

}  // namespace slipway::launcher

#include "launcher/ranks/local/core_shares.h"

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

std::vector<PlaceOnNode> PlacesOnNodes(const std::vector<PlacedRank>& ranks) {
  std::map<int, std::vector<int>> ranks_of;  // node -> its ranks in rising order
  for (const auto& each : ranks) ranks_of[each.node].push_back(each.rank);
  for (auto& [node, numbers] : ranks_of) std::ranges::sort(numbers);
  std::vector<PlaceOnNode> places;
  for (const auto& [rank, node] : ranks) {
    const auto& numbers = ranks_of[node];
    places.push_back(
        {static_cast<int>(std::ranges::find(numbers, rank) - numbers.begin()), static_cast<int>(numbers.size())});
  }
  return places;
}

std::vector<std::string> CoreListsOf(const std::vector<PlacedRank>& ranks,
                                     const std::map<int, std::vector<int>>& cores_of) {
  const auto places = PlacesOnNodes(ranks);
  std::map<int, std::vector<std::vector<int>>> shares_of;
  std::vector<std::string> lists;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto [shares, is_new] = shares_of.try_emplace(ranks[i].node);
    const auto cores = cores_of.find(ranks[i].node);
    if (is_new && cores != cores_of.end()) shares->second = ShareOut(cores->second, places[i].of);
    const auto at = static_cast<std::size_t>(places[i].at);
    lists.push_back(at < shares->second.size() ? CoreList(shares->second[at]) : std::string());
  }
  return lists;
}

}  // namespace slipway::launcher

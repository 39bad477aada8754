/// Which cores each rank of a node gets. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace slipway::launcher {

/// Equal shares of `cores` for `ranks` ranks, each a contiguous part in their order. Cores left over by the division
/// are unused. Empty when there are fewer cores than ranks.
std::vector<std::vector<int>> ShareOut(const std::vector<int>& cores, int ranks);

/// "0-3,8": as taskset and cpusets write it.
std::string CoreList(const std::vector<int>& cores);

struct PlacedRank {
  int rank = 0;
  int node = 0;
};

/// The position of a rank among the ranks of its node, by number.
struct PlaceOnNode {
  int at = 0;
  int of = 1;
};
std::vector<PlaceOnNode> PlacesOnNodes(const std::vector<PlacedRank>& ranks);

/// The core list of each of `ranks`, in their order. The ranks of a node share out its cores in `cores_of`, by number.
/// Empty for ranks that are not bound.
std::vector<std::string> CoreListsOf(const std::vector<PlacedRank>& ranks,
                                     const std::map<int, std::vector<int>>& cores_of);

}  // namespace slipway::launcher

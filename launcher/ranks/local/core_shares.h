/// Which cores each rank of a node gets. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace slipway::launcher {

/// Equal shares for `ranks` ranks, each a run of `cores` in their order; what does not divide evenly is nobody's. Empty
/// when there are fewer cores than ranks.
std::vector<std::vector<int>> ShareOut(const std::vector<int>& cores, int ranks);

/// "0-3,8": as taskset and cpusets write it.
std::string CoreList(const std::vector<int>& cores);

struct PlacedRank {
  int rank = 0;
  int node = 0;
};

/// Where a rank stands among the ranks of its node, by their numbers.
struct PlaceOnNode {
  int at = 0;
  int of = 1;
};
std::vector<PlaceOnNode> PlacesOnNodes(const std::vector<PlacedRank>& ranks);

/// What each of `ranks` is bound to, in their order: the ranks of a node share out what `cores_of` says of it, by their
/// numbers. Empty for those that are not bound.
std::vector<std::string> CoreListsOf(const std::vector<PlacedRank>& ranks,
                                     const std::map<int, std::vector<int>>& cores_of);

}  // namespace slipway::launcher

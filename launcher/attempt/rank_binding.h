/// Whether the ranks of a job are bound to cores, and to which.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// A node as the ranks of one job find it.
struct RankHost {
  int node = 0;
  std::string name;
  std::vector<int> cores;  ///< for the job's ranks there
  bool own = true;         ///< nobody else runs on them
  int ranks = 1;
};

struct RankBinding {
  std::map<int, std::vector<int>> cores_of;  ///< RankLaunch::bind_to
  std::string why_not;                       ///< of the nodes that are left out although bound ranks were asked for
};

/// `auto` binds what runs under Slurm, where the job has its cores for itself: beside other jobs nobody could tell
/// which cores are free. More ranks than cores are never bound: they would stand in each other's way. Pure.
RankBinding BindRanks(Bind asked, bool under_slurm, const std::vector<RankHost>& hosts);

}  // namespace slipway::launcher

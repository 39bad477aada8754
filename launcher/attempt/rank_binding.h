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
  bool own = true;         ///< no other job runs on them
  int ranks = 1;
};

struct RankBinding {
  std::map<int, std::vector<int>> cores_of;  ///< RankLaunch::bind_to
  std::string why_not;                       ///< why some nodes are left out although binding was asked for
};

/// Chooses the cores of the ranks on each node. `auto` binds runs under Slurm whose job owns its cores. Where other
/// jobs run beside it, free cores cannot be identified. More ranks than cores are never bound, because they would slow
/// each other. Pure.
RankBinding BindRanks(Bind asked, bool under_slurm, const std::vector<RankHost>& hosts);

}  // namespace slipway::launcher

#include "launcher/ranks/local/ranks.h"

#include "launcher/ranks/local/lone_rank.h"
#include "launcher/ranks/local/rank_group.h"

namespace slipway::launcher {
namespace {

/// By these the MPI libraries and ours know that a launcher of MPI programs has started them.
constexpr const char* kMpiJobVariables[] = {"OMPI_COMM_WORLD_RANK",
                                            "OMPI_COMM_WORLD_SIZE",
                                            "OMPI_COMM_WORLD_LOCAL_RANK",
                                            "PMIX_RANK",
                                            "PMIX_NAMESPACE",
                                            "PMI_RANK",
                                            "PMI_SIZE",
                                            "PMI_FD",
                                            "MPI_LOCALRANKID",
                                            "SLURM_STEP_NUM_TASKS"};

}  // namespace

void LeaveMpiJob(Environment& environment) {
  for (const char* name : kMpiJobVariables) environment.Unset(name);
}

std::unique_ptr<Ranks> StartRanks(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended) {
  if (launch.ranks == 1 && launch.supervisor != nullptr) {
    return std::make_unique<LoneRank>(loop, std::move(launch), std::move(ended));
  }
  return std::make_unique<RankGroup>(loop, std::move(launch), std::move(ended));
}

}  // namespace slipway::launcher

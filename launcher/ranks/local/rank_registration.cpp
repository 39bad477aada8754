#include "launcher/ranks/local/rank_registration.h"

#include <fmt/format.h>

namespace slipway::launcher {

std::string RankRegistration::Take(int rank, int size) {
  if (size != ranks_) {
    return fmt::format("{} started programs of world size {} instead of {}: it does not tell them of each other; {}",
                       launcher_.Way(), size, ranks_, Remedy());
  }
  if (rank < 0 || rank >= ranks_) {
    return fmt::format("{} started a rank {} of {}; {}", launcher_.Way(), rank, ranks_, Remedy());
  }
  if (!seen_.insert(rank).second) {
    return fmt::format("{} started several ranks {} of {}: it does not tell them of each other; {}", launcher_.Way(),
                       rank, ranks_, Remedy());
  }
  return {};
}

std::string RankRegistration::Remedy() const {
  if (launcher_.BySrun()) {
    return fmt::format("Slurm's interface {} does not work here: ask for another way with launch.slurm.start",
                       launcher_.srun_interface);
  }
  return fmt::format(
      "it is not the starter of {} that it is taken for: see `{} --version`, and say which MPI it is with "
      "launch.mpi",
      FullNameOf(launcher_.mpi), launcher_.program);
}

}  // namespace slipway::launcher

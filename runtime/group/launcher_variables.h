/// The variables by which launchers of MPI programs tell how many ranks they have started. Needs nothing but the C
/// library: it is also in what is loaded into foreign programs.
#pragma once

#include <stdlib.h>

#include <initializer_list>

namespace slipway::runtime {

enum class RankLauncher { kNone, kOpenMpi, kPmi, kSlurm };

struct LauncherVariable {
  RankLauncher launcher = RankLauncher::kNone;
  const char* name = "";
};

inline constexpr LauncherVariable kLauncherVariables[] = {{RankLauncher::kOpenMpi, "OMPI_COMM_WORLD_SIZE"},
                                                          {RankLauncher::kPmi, "PMI_SIZE"},
                                                          {RankLauncher::kSlurm, "SLURM_STEP_NUM_TASKS"}};

struct StartedRanks {
  LauncherVariable by;
  int ranks = 0;
};

/// By the environment. The launcher of the program's own MPI is asked first: others around it may have left their
/// variables. Slurm's are there whether or not the ranks were started by srun.
inline StartedRanks FindStartedRanks(bool open_mpi) {
  const auto& [of_open_mpi, of_pmi, of_slurm] = kLauncherVariables;
  const auto* own = open_mpi ? &of_open_mpi : &of_pmi;
  const auto* other = open_mpi ? &of_pmi : &of_open_mpi;
  for (const LauncherVariable* variable : {own, other, &of_slurm}) {
    if (const char* value = getenv(variable->name)) return {*variable, atoi(value)};
  }
  return {};
}

}  // namespace slipway::runtime

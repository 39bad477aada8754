/// Checks "mpirun" and "srun": which ways to start several ranks work, found by starting two.
#pragma once

#include <string>
#include <vector>

#include "core/process.h"
#include "core/units.h"
#include "launcher/cli/doctor/finding.h"
#include "launcher/ranks/local/two_ranks.h"

namespace slipway::launcher {

/// What came of one way to start two ranks of libexec/slipway/doctor-ranks.
struct RankStart {
  std::string way;         ///< "mpirun", "srun --mpi=pmix"
  std::string version;     ///< first line of the starter's version output; may be empty
  bool is_default = true;  ///< runs use it by default
  Captured captured;
  Seconds took{};
};

/// Starts two ranks with every mpirun, the default first. Others count only with a libslipway for them. Empty without
/// an mpirun, or when Slipway was built without MPI. Cost: about 0.5 s each; a start that hangs is ended.
std::vector<RankStart> TryMpirun();
/// Starts two ranks by `srun --mpi=pmix` and `--mpi=pmi2`, inside an allocation.
std::vector<RankStart> TrySrun();

/// Pure.
Findings Judge(const RankStart& start);
/// Also explains that there is no mpirun, and what that means.
Findings JudgeMpirun(const std::vector<RankStart>& starts);

}  // namespace slipway::launcher

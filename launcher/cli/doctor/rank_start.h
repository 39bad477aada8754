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
  std::string version;     ///< first line of what the starter says of itself; may be empty
  bool is_default = true;  ///< runs use it without being told
  Captured captured;
  Seconds took{};
};

/// By every mpirun that there is, the default first; by another one only with a libslipway for it. Nothing where there
/// is none, or Slipway was built without MPI. Cost: about 0.5 s each; the time of a start that hangs is limited.
std::vector<RankStart> TryMpirun();
/// By `srun --mpi=pmix` and `--mpi=pmi2`, inside an allocation.
std::vector<RankStart> TrySrun();

/// Pure.
Findings Judge(const RankStart& start);
/// Also says what it means that there is none.
Findings JudgeMpirun(const std::vector<RankStart>& starts);

}  // namespace slipway::launcher

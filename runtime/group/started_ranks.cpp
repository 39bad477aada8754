#include "runtime/group/started_ranks.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <string>

#include "runtime/group/launcher_variables.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2".
std::string NameOfMpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  for (auto& letter : name) letter = letter == '\t' ? ' ' : letter;
  return name;
}

bool IsOpenMpi(const std::string& mpi) { return mpi.starts_with("Open MPI"); }

std::string NextStep(const StartedRanks& started, bool open_mpi) {
  if (started.by.launcher == RankLauncher::kSlurm) {
    return fmt::format("srun did not tell this MPI of the others; start the job with srun --mpi={}",
                       open_mpi ? "pmix" : "pmi2");
  }
  return fmt::format(
      "another MPI's launcher started the job; start it with the mpirun of {}, or take the libslipway for the "
      "launcher's MPI: put lib/slipway/{} first in LD_LIBRARY_PATH",
      open_mpi ? "Open MPI" : "MPICH", open_mpi ? "mpich" : "openmpi");
}

}  // namespace

void RequireStartedRanks(int ranks) {
  if (ranks > 1) return;
  const auto mpi = NameOfMpi();
  const auto started = FindStartedRanks(IsOpenMpi(mpi));
  if (started.ranks <= 1) return;
  throw RuntimeError(SLIPWAY_ERROR_MPI,
                     fmt::format("{} ranks were started ({}), but {}, which libslipway here is built for, sees one: {}",
                                 started.ranks, started.by.name, mpi, NextStep(started, IsOpenMpi(mpi))));
}

}  // namespace slipway::runtime

#include "runtime/group/started_ranks.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

constexpr const char* kOfOpenMpi = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kOfPmi = "PMI_SIZE";
constexpr const char* kOfSlurm = "SLURM_STEP_NUM_TASKS";

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

struct Started {
  const char* variable;
  int ranks;
};

/// This MPI's own launcher is asked first: others around it may have left their variables. Slurm's are there whether or
/// not the job's launcher is srun.
std::optional<Started> StartedRanks(bool open_mpi) {
  const std::array asked{open_mpi ? kOfOpenMpi : kOfPmi, open_mpi ? kOfPmi : kOfOpenMpi, kOfSlurm};
  for (const char* variable : asked) {
    if (const char* value = std::getenv(variable)) return Started{variable, std::atoi(value)};
  }
  return std::nullopt;
}

std::string NextStep(const Started& started, bool open_mpi) {
  if (started.variable == kOfSlurm) {
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
  const auto started = StartedRanks(IsOpenMpi(mpi));
  if (!started || started->ranks <= 1) return;
  throw RuntimeError(SLIPWAY_ERROR_MPI,
                     fmt::format("{} ranks were started ({}), but {}, which libslipway here is built for, sees one: {}",
                                 started->ranks, started->variable, mpi, NextStep(*started, IsOpenMpi(mpi))));
}

}  // namespace slipway::runtime

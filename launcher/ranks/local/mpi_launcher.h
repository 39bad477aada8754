/// The program that starts several ranks, and its command line: mpirun of Open MPI or MPICH, or Slurm's srun.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace slipway::launcher {

/// kMpich stands for all MPIs with the Hydra starter.
enum class Mpi { kOpenMpi, kMpich };

/// Also the name of its folder in lib/slipway.
WordTable<Mpi> WordsOf(Mpi);

/// "Open MPI", "MPICH".
std::string_view FullNameOf(Mpi mpi);

struct MpiLauncher {
  Mpi mpi = Mpi::kOpenMpi;  ///< of the ranks
  std::string program = "mpirun";
  std::string srun_interface = {};  ///< "pmix", "pmi2": the program is srun, and offers this to the ranks

  bool BySrun() const { return !srun_interface.empty(); }
  /// "mpirun.mpich", "srun --mpi=pmix".
  std::string Way() const { return BySrun() ? program + " --mpi=" + srun_interface : program; }
};

/// The MPI whose mpirun prints this version; nothing when it is unknown.
std::optional<Mpi> MpiOfVersion(std::string_view version);

/// The mpirun on PATH of MPI `wanted`, which may have another name, such as mpirun.mpich. Without `wanted`, any mpirun.
/// Cost:   a few milliseconds, to ask mpirun for its version.
/// Errors: Error(kEnvironment) when there is none, with what to install.
MpiLauncher FindMpiLauncher(std::optional<Mpi> wanted);

/// A node of an allocation with the ranks that run there.
struct HostRanks {
  int node = 0;      ///< its number within the allocation
  std::string name;  ///< as the batch system calls it
  int ranks = 1;
};

struct StartOptions {
  int ranks = 2;
  int cores = 1;
  bool root = false;
  std::vector<HostRanks> hosts = {};  ///< empty: this machine only, also inside an allocation
  std::string tasks_per_node = {};    ///< SLURM_TASKS_PER_NODE: how Slurm has laid out the tasks of the job
};

/// The words of the command line before the program of the ranks. Ranks are numbered host by host.
std::vector<std::string> StartWords(const MpiLauncher& launcher, const StartOptions& options);

/// The folder of the libslipway for `mpi`, if this installation has one and it is not the default; else empty.
std::filesystem::path LibrariesFor(Mpi mpi);

}  // namespace slipway::launcher

/// Chooses what starts several ranks under Slurm: an mpirun, or srun itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"
#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

/// kPmix and kPmi2: srun with the interface of that name.
enum class StartChoice { kAuto, kMpirun, kPmix, kPmi2 };
WordTable<StartChoice> WordsOf(StartChoice);

/// The available starters.
struct StartMeans {
  std::optional<MpiLauncher> mpirun;  ///< of the MPI that was asked for
  std::vector<std::string> srun;      ///< the interfaces that srun offers; empty without srun
};

struct ChosenStart {
  MpiLauncher by;
  std::string reason;  ///< "mpirun is there"
};

/// Pure. Nothing when `auto` finds nothing to take.
std::optional<ChosenStart> ChooseStart(StartChoice asked, std::optional<Mpi> mpi, const StartMeans& means);

/// The names in the output of `srun --mpi=list`.
std::vector<std::string> InterfacesIn(std::string_view list);

/// Searches only for what the choice depends on. Cost: some milliseconds for each program that is called.
/// Errors: Error(kEnvironment) when nothing can start them, with what to install.
ChosenStart FindStart(StartChoice asked, std::optional<Mpi> mpi);

/// Whether ranks of this MPI usually find each other when started this way. Other pairs may work, but only a start can
/// tell.
bool IsUsualPairing(const MpiLauncher& launcher);

}  // namespace slipway::launcher

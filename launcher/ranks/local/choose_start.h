/// What starts several ranks under Slurm: an mpirun, or srun itself, and why.
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

/// What there is to choose from.
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

/// The names in what `srun --mpi=list` prints.
std::vector<std::string> InterfacesIn(std::string_view list);

/// Looks only for what the choice depends on. Cost: some milliseconds for each program that is asked.
/// Errors: Error(kEnvironment) when there is nothing that could start them, with what to install.
ChosenStart FindStart(StartChoice asked, std::optional<Mpi> mpi);

/// Whether ranks of this MPI are known to find each other when they are started so. Others may have been built for it;
/// only a start tells.
bool IsUsualPairing(const MpiLauncher& launcher);

}  // namespace slipway::launcher

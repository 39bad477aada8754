/// Chooses what starts several ranks under Slurm: an mpirun, or srun itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/environment.h"
#include "core/error.h"
#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

enum class StartKind { kAuto, kMpirun, kSrun };

struct StartChoice {
  StartKind kind = StartKind::kAuto;
  std::string interface = {};  ///< of kSrun, as `srun --mpi=list` names it: "pmix", "pmi2", "cray_shasta"
  bool operator==(const StartChoice&) const = default;
};

/// Of "auto", "mpirun", or the name of an interface.
StartChoice StartChoiceOf(std::string_view word);

/// The interface that was asked for cannot be taken. Nothing else is taken in its place.
class NoSuchStart : public Error {
 public:
  using Error::Error;
};

/// The interface that the user's environment speaks for, where it does.
struct PreferredInterface {
  std::string interface = {};
  std::string reason = {};  ///< "SLURM_MPI_TYPE names pmix"
};

/// A host from which a job is submitted may offer less than the nodes of the job.
enum class SeenFrom { kNodeOfRanks, kOtherHost };

/// The available starters.
struct StartMeans {
  std::optional<MpiLauncher> mpirun;  ///< of the MPI that was asked for
  std::vector<std::string> srun;      ///< the interfaces that srun offers; empty without srun
  PreferredInterface preferred = {};
  SeenFrom seen_from = SeenFrom::kNodeOfRanks;
};

struct ChosenStart {
  MpiLauncher by;
  std::string reason;      ///< "mpirun is there"
  std::string doubt = {};  ///< why it may fail on the nodes of the job; empty: nothing speaks against it
};

/// Pure. Nothing when `auto` finds nothing to take. Errors: NoSuchStart when srun does not offer the interface, or it
/// is not known which MPI speaks it. Seen from another host, a well-known interface that srun does not offer there is
/// a doubt.
std::optional<ChosenStart> ChooseStart(const StartChoice& asked, std::optional<Mpi> mpi, const StartMeans& means);

/// The names in the output of `srun --mpi=list`, those of versions ("pmix_v4") last.
std::vector<std::string> InterfacesIn(std::string_view list);

/// By SLURM_MPI_TYPE, which srun takes without `--mpi`, else by the module of Cray MPICH.
PreferredInterface PreferredIn(const Environment& environment);

/// Searches only for what the choice depends on. Cost: some milliseconds for each program that is called.
/// Errors: Error(kEnvironment) when nothing can start them, with what to install; NoSuchStart.
ChosenStart FindStart(const StartChoice& asked, std::optional<Mpi> mpi, SeenFrom seen_from);

/// Whether ranks of this MPI usually find each other when started this way, as the tests have seen. Other pairs may
/// work, but only a start can tell.
bool IsUsualPairing(const MpiLauncher& launcher);

}  // namespace slipway::launcher

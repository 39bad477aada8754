#include "launcher/attempt/check_pairing.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/ranks/local/choose_start.h"
#include "launcher/ranks/local/two_ranks.h"

namespace slipway::launcher {
namespace {

/// Beside what else runs in the job.
std::vector<std::string> StarterOfTwo(const MpiLauncher& launcher) {
  return {launcher.program, "--nodes=1",    "--ntasks=2", "--ntasks-per-node=2", "--mpi=" + launcher.srun_interface,
          "--overlap",      "--overcommit", "--mem=0",    "--cpu-bind=none",     "--input=none"};
}

}  // namespace

std::string CheckPairing(const MpiLauncher& launcher) {
  if (IsUsualPairing(launcher)) return {};
  if (!CanStartTwoRanks() || !HasLibraryFor(launcher.mpi)) {
    return fmt::format(
        "{} reaches few {}, and that cannot be tried without a libslipway for it: look whether each rank "
        "trains alone",
        launcher.Way(), FullNameOf(launcher.mpi));
  }
  const auto why = WhyNotTogether(StartTwoRanks(StarterOfTwo(launcher), launcher.mpi).captured);
  if (why.empty()) return {};
  throw Error(ErrorKind::kEnvironment,
              fmt::format("{} does not reach this {}: {}", launcher.Way(), FullNameOf(launcher.mpi), why),
              fmt::format("set launch.slurm.start: {}, or auto", launcher.mpi == Mpi::kOpenMpi ? "pmix" : "pmi2"));
}

}  // namespace slipway::launcher

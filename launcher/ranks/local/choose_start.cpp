#include "launcher/ranks/local/choose_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "core/error.h"
#include "core/process.h"

namespace slipway::launcher {
namespace {

struct Pairing {
  StartChoice choice;
  const char* interface;
  Mpi mpi;
};

/// The interface of srun that each MPI speaks as it is usually built.
constexpr std::array kPairings = {Pairing{StartChoice::kPmix, "pmix", Mpi::kOpenMpi},
                                  Pairing{StartChoice::kPmi2, "pmi2", Mpi::kMpich}};

ChosenStart BySrun(const Pairing& pairing, std::optional<Mpi> mpi, std::string reason) {
  return {{mpi.value_or(pairing.mpi), "srun", pairing.interface}, std::move(reason)};
}

std::optional<ChosenStart> ChooseForAuto(std::optional<Mpi> mpi, const StartMeans& means) {
  if (means.mpirun) return ChosenStart{*means.mpirun, means.mpirun->program + " is there"};
  for (const auto& pairing : kPairings) {
    const bool offered = std::ranges::find(means.srun, pairing.interface) != means.srun.end();
    if (offered && mpi.value_or(pairing.mpi) == pairing.mpi) {
      return BySrun(pairing, mpi, fmt::format("there is no mpirun, and srun offers {}", pairing.interface));
    }
  }
  return {};
}

std::optional<MpiLauncher> FindMpirun(std::optional<Mpi> mpi) try {
  return FindMpiLauncher(mpi);
} catch (const Error&) {
  return {};
}

/// It prints the list as an error message.
std::vector<std::string> InterfacesOfSrun() {
  if (!FindProgram("srun")) return {};
  SpawnOptions options;
  options.argv = {"srun", "--mpi=list"};
  const auto said = RunAndCapture(std::move(options), std::chrono::seconds(10));
  return InterfacesIn(said.output + said.errors);
}

StartMeans LookForMeans(StartChoice asked, std::optional<Mpi> mpi) {
  StartMeans means;
  if (asked == StartChoice::kAuto) means.mpirun = FindMpirun(mpi);
  if (asked == StartChoice::kAuto && !means.mpirun) means.srun = InterfacesOfSrun();
  return means;
}

}  // namespace

WordTable<StartChoice> WordsOf(StartChoice) {
  static constexpr Word<StartChoice> kWords[] = {
      {StartChoice::kAuto, "auto", "mpirun where there is one, else what srun offers"},
      {StartChoice::kMpirun, "mpirun"},
      {StartChoice::kPmix, "pmix", "`srun --mpi=pmix`, for Open MPI"},
      {StartChoice::kPmi2, "pmi2", "`srun --mpi=pmi2`, for MPICH"}};
  return kWords;
}

std::optional<ChosenStart> ChooseStart(StartChoice asked, std::optional<Mpi> mpi, const StartMeans& means) {
  if (asked == StartChoice::kAuto) return ChooseForAuto(mpi, means);
  for (const auto& pairing : kPairings) {
    if (asked == pairing.choice) return BySrun(pairing, mpi, "launch.slurm.start asks for it");
  }
  if (!means.mpirun) return {};
  return ChosenStart{*means.mpirun, "launch.slurm.start asks for it"};
}

std::vector<std::string> InterfacesIn(std::string_view list) {
  std::istringstream lines{std::string(list)};
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    // "MPI plugin types are..." and the like are sentences; a name stands alone, indented, in old versions behind
    // "srun: ".
    if (line.starts_with("srun: ")) line.erase(0, 6);
    const auto from = line.find_first_not_of(" \t");
    const auto to = line.find_last_not_of(" \t\r");
    if (from != std::string::npos && line.find(' ', from) >= to) names.push_back(line.substr(from, to - from + 1));
  }
  return names;
}

ChosenStart FindStart(StartChoice asked, std::optional<Mpi> mpi) {
  if (asked == StartChoice::kMpirun) return {FindMpiLauncher(mpi), "launch.slurm.start asks for it"};
  if (auto chosen = ChooseStart(asked, mpi, LookForMeans(asked, mpi))) return *chosen;
  FindMpiLauncher(mpi);  // says what is missing
  throw Error(ErrorKind::kInternal, "an mpirun that was not there has appeared");
}

bool IsUsualPairing(const MpiLauncher& launcher) {
  return !launcher.BySrun() || std::ranges::any_of(kPairings, [&](const Pairing& pairing) {
    return launcher.srun_interface == pairing.interface && launcher.mpi == pairing.mpi;
  });
}

}  // namespace slipway::launcher

#include "launcher/ranks/local/choose_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "core/process.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

constexpr const char* kAskedFor = "launch.slurm.start asks for it";

struct Pairing {
  std::string_view interface;
  Mpi mpi;
  bool tested;
};

/// The interface of srun that each MPI speaks as it is usually built.
constexpr std::array kPairings = {Pairing{"pmix", Mpi::kOpenMpi, true}, Pairing{"pmi2", Mpi::kMpich, true},
                                  Pairing{"cray_shasta", Mpi::kMpich, false}};

/// "pmix_v4" is pmix of that version.
const Pairing* PairingOf(std::string_view interface) {
  const auto found = std::ranges::find_if(kPairings, [&](const Pairing& pairing) {
    return interface == pairing.interface || interface.starts_with(std::string(pairing.interface) + "_v");
  });
  return found == kPairings.end() ? nullptr : &*found;
}

bool Offers(const StartMeans& means, std::string_view interface) {
  return std::ranges::find(means.srun, interface) != means.srun.end();
}

ChosenStart BySrun(std::string_view interface, Mpi mpi, std::string reason) {
  return {{mpi, "srun", std::string(interface)}, std::move(reason)};
}

/// Slurm offers cray_shasta on other systems, too: that it is in the list says nothing of the MPI.
std::optional<ChosenStart> ChooseForAuto(std::optional<Mpi> mpi, const StartMeans& means) {
  if (means.mpirun) return ChosenStart{*means.mpirun, means.mpirun->program + " is there"};
  const auto fits = [&](const Pairing& pairing) { return mpi.value_or(pairing.mpi) == pairing.mpi; };
  const auto* preferred = PairingOf(means.preferred.interface);
  if (preferred != nullptr && fits(*preferred) && Offers(means, means.preferred.interface)) {
    return BySrun(means.preferred.interface, preferred->mpi,
                  fmt::format("there is no mpirun, and {}", means.preferred.reason));
  }
  for (const auto& pairing : kPairings) {
    if (pairing.tested && fits(pairing) && Offers(means, pairing.interface)) {
      return BySrun(pairing.interface, pairing.mpi,
                    fmt::format("there is no mpirun, and srun offers {}", pairing.interface));
    }
  }
  return {};
}

ChosenStart ChooseInterface(const std::string& interface, std::optional<Mpi> mpi, const StartMeans& means) {
  const auto* pairing = PairingOf(interface);
  const bool is_missing = !means.srun.empty() && !Offers(means, interface);
  if (is_missing && (pairing == nullptr || means.seen_from == SeenFrom::kNodeOfRanks)) {
    throw NoSuchStart(ErrorKind::kEnvironment, fmt::format("srun has no MPI interface '{}'", interface),
                      fmt::format("set launch.slurm.start to auto, mpirun or one of: {}", fmt::join(means.srun, ", ")));
  }
  if (pairing == nullptr && !mpi) {
    throw NoSuchStart(ErrorKind::kEnvironment,
                      fmt::format("Slipway does not know which MPI uses the interface '{}' of srun", interface),
                      "set launch.mpi: openmpi or mpich");
  }
  auto chosen = BySrun(interface, mpi ? *mpi : pairing->mpi, kAskedFor);
  if (is_missing) {
    chosen.doubt = fmt::format(
        "srun on this host has no MPI interface '{}' (it has: {}); the job fails if its nodes do not have it either",
        interface, fmt::join(means.srun, ", "));
  }
  return chosen;
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

StartMeans LookForMeans(StartKind asked, std::optional<Mpi> mpi, SeenFrom seen_from) {
  StartMeans means;
  means.seen_from = seen_from;
  if (asked == StartKind::kAuto) means.mpirun = FindMpirun(mpi);
  if (means.mpirun) return means;
  means.srun = InterfacesOfSrun();
  means.preferred = PreferredIn(Environment::Inherited());
  return means;
}

/// Separated by blanks or commas.
std::vector<std::string> WordsIn(std::string line) {
  std::ranges::replace(line, ',', ' ');
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

StartChoice StartChoiceOf(std::string_view word) {
  if (word == "auto") return {};
  if (word == "mpirun") return {StartKind::kMpirun};
  return {StartKind::kSrun, std::string(word)};
}

std::optional<ChosenStart> ChooseStart(const StartChoice& asked, std::optional<Mpi> mpi, const StartMeans& means) {
  if (asked.kind == StartKind::kAuto) return ChooseForAuto(mpi, means);
  if (asked.kind == StartKind::kSrun) return ChooseInterface(asked.interface, mpi, means);
  if (!means.mpirun) return {};
  return ChosenStart{*means.mpirun, kAskedFor};
}

std::vector<std::string> InterfacesIn(std::string_view list) {
  static constexpr std::string_view kVersions = " versions available: ";
  std::vector<std::string> names;
  std::vector<std::string> versions;
  for (auto& line : LinesOf(list)) {
    // "MPI plugin types are..." and the like are sentences; a name stands alone, indented, in old versions behind
    // "srun: ".
    if (line.starts_with("srun: ")) line.erase(0, 6);
    if (const auto at = line.find(kVersions); at != std::string::npos) {
      const auto more = WordsIn(line.substr(at + kVersions.size()));
      versions.insert(versions.end(), more.begin(), more.end());
    } else if (auto words = WordsIn(line); words.size() == 1) {
      names.push_back(std::move(words.front()));
    }
  }
  names.insert(names.end(), versions.begin(), versions.end());
  return names;
}

PreferredInterface PreferredIn(const Environment& environment) {
  if (const auto type = environment.Get("SLURM_MPI_TYPE")) return {*type, "SLURM_MPI_TYPE names " + *type};
  if (environment.Get("CRAY_MPICH_VERSION")) return {"cray_shasta", "Cray MPICH is loaded"};
  return {};
}

ChosenStart FindStart(const StartChoice& asked, std::optional<Mpi> mpi, SeenFrom seen_from) {
  if (asked.kind == StartKind::kMpirun) return {FindMpiLauncher(mpi), kAskedFor};
  if (auto chosen = ChooseStart(asked, mpi, LookForMeans(asked.kind, mpi, seen_from))) return *chosen;
  FindMpiLauncher(mpi);  // says what is missing
  throw Error(ErrorKind::kInternal, "an mpirun that was not there has appeared");
}

bool IsUsualPairing(const MpiLauncher& launcher) {
  if (!launcher.BySrun()) return true;
  const auto* pairing = PairingOf(launcher.srun_interface);
  return pairing != nullptr && pairing->tested && pairing->mpi == launcher.mpi;
}

}  // namespace slipway::launcher

#include "launcher/ranks/local/mpi_launcher.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Debian's names stand beside mpirun, which is one of the two.
std::vector<std::string> ProgramsOf(std::optional<Mpi> mpi) {
  if (!mpi) return {"mpirun"};
  if (*mpi == Mpi::kOpenMpi) return {"mpirun", "mpirun.openmpi"};
  return {"mpirun", "mpirun.mpich", "mpiexec.hydra"};
}

std::optional<Mpi> Ask(const std::string& program) {
  SpawnOptions options;
  options.argv = {program, "--version"};
  return MpiOfVersion(RunAndCapture(std::move(options), std::chrono::seconds(10)).output);
}

[[noreturn]] void ThrowMissing(std::optional<Mpi> wanted) {
  if (!wanted) {
    throw Error(ErrorKind::kEnvironment, "several ranks need mpirun, which is not on PATH",
                "install Open MPI or MPICH (Debian: apt install openmpi-bin, or mpich)");
  }
  const auto name = FullNameOf(*wanted);
  const auto package = *wanted == Mpi::kOpenMpi ? "openmpi-bin" : "mpich";
  throw Error(ErrorKind::kEnvironment, fmt::format("several ranks need the mpirun of {}, which is not on PATH", name),
              fmt::format("install {} (Debian: apt install {}) or set launch.mpi: auto", name, package));
}

/// "n1:2,n2:2".
std::string HostList(const std::vector<HostRanks>& hosts) {
  std::string list;
  for (const auto& host : hosts) list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.ranks);
  return list;
}

/// Within an allocation Hydra starts its proxies through srun, like Open MPI.
std::vector<std::string> HydraWords(const MpiLauncher& launcher, const StartOptions& options) {
  const bool here = options.hosts.empty();
  return {launcher.program,
          "-launcher",
          here ? "fork" : "slurm",
          "-hosts",
          here ? "localhost" : HostList(options.hosts),
          "-n",
          std::to_string(options.ranks)};
}

std::vector<std::string> OpenMpiWords(const MpiLauncher& launcher, const StartOptions& options) {
  std::vector<std::string> words{launcher.program, "-n", std::to_string(options.ranks), "--bind-to", "none"};
  if (!options.hosts.empty()) {
    // Slots of our own numbers, filled host by host, whatever the batch system counts as a task.
    words.insert(words.end(), {"--host", HostList(options.hosts), "--map-by", "slot"});
  }
  if (options.root) words.push_back("--allow-run-as-root");
  if (options.hosts.empty() && options.ranks > options.cores) words.push_back("--oversubscribe");
  return words;
}

/// Whether Slurm's own layout of the job has as many tasks on every node as ranks are wanted: "2(x4)", "2". Where it
/// has not, srun fills the nodes by it, whatever --ntasks-per-node says.
bool IsLaidOutSo(std::string_view tasks_per_node, int ranks) {
  return tasks_per_node.empty() || tasks_per_node == std::to_string(ranks) ||
         (tasks_per_node.starts_with(fmt::format("{}(", ranks)) && tasks_per_node.find(',') == std::string_view::npos);
}

/// "--nodes=2 --nodelist=n1,n2", or a node for each rank.
std::vector<std::string> SrunLayout(const StartOptions& options) {
  const int each = options.hosts.empty() ? options.ranks : options.hosts.front().ranks;
  const bool by_rank = !IsLaidOutSo(options.tasks_per_node, each);
  std::string names;
  for (const auto& host : options.hosts) {
    for (int i = 0; i < (by_rank ? host.ranks : 1); ++i) names += (names.empty() ? "" : ",") + host.name;
  }
  if (by_rank) return {"--nodelist=" + names, "--distribution=arbitrary"};
  return {fmt::format("--nodes={}", options.hosts.size()), fmt::format("--ntasks-per-node={}", each),
          "--nodelist=" + names, "--distribution=block"};
}

/// One step over exactly these nodes; ranks are numbered node by node, in Slurm's order of the nodes, which is that of
/// `hosts`. Every option that the job's environment could set otherwise is said. Cores are the shim's matter, and ranks
/// that fail the manager's.
std::vector<std::string> SrunWords(const MpiLauncher& launcher, const StartOptions& options) {
  std::vector<std::string> words{launcher.program, fmt::format("--ntasks={}", options.ranks)};
  const auto layout = SrunLayout(options);
  words.insert(words.end(), layout.begin(), layout.end());
  words.insert(words.end(),
               {"--mpi=" + launcher.srun_interface, "--job-name=slipway-ranks", "--overlap", "--overcommit", "--mem=0",
                "--cpu-bind=none", "--export=ALL", "--no-kill", "--kill-on-bad-exit=0", "--wait=0", "--input=none"});
  return words;
}

}  // namespace

std::string_view FullNameOf(Mpi mpi) { return mpi == Mpi::kOpenMpi ? "Open MPI" : "MPICH"; }

WordTable<Mpi> WordsOf(Mpi) {
  static constexpr Word<Mpi> kWords[] = {{Mpi::kOpenMpi, "openmpi", "Open MPI"},
                                         {Mpi::kMpich, "mpich", "MPICH and its relatives"}};
  return kWords;
}

std::optional<Mpi> MpiOfVersion(std::string_view version) {
  const auto says = [&](std::string_view word) { return version.find(word) != std::string_view::npos; };
  if (says("Open MPI") || says("OpenRTE")) return Mpi::kOpenMpi;
  if (says("HYDRA") || says("Intel(R) MPI")) return Mpi::kMpich;
  return std::nullopt;
}

MpiLauncher FindMpiLauncher(std::optional<Mpi> wanted) {
  for (const auto& program : ProgramsOf(wanted)) {
    if (!FindProgram(program)) continue;
    const auto mpi = Ask(program);
    if (!wanted || mpi == wanted) return {.mpi = mpi.value_or(Mpi::kOpenMpi), .program = program};
  }
  ThrowMissing(wanted);
}

std::vector<std::string> StartWords(const MpiLauncher& launcher, const StartOptions& options) {
  if (launcher.BySrun()) return SrunWords(launcher, options);
  return launcher.mpi == Mpi::kMpich ? HydraWords(launcher, options) : OpenMpiWords(launcher, options);
}

fs::path LibrariesFor(Mpi mpi) {
  std::error_code ignored;
  const auto folder = LibraryDirectory() / "slipway" / WordOf(mpi);
  const auto library = folder / "libslipway.so";
  const bool other =
      fs::exists(library, ignored) && !fs::equivalent(library, LibraryDirectory() / "libslipway.so", ignored);
  return other ? folder : fs::path();
}

}  // namespace slipway::launcher

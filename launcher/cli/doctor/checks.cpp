#include "launcher/cli/doctor/checks.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/process.h"
#include "core/text.h"
#include "launcher/cli/doctor/direct_copies.h"
#include "launcher/cli/doctor/finding.h"
#include "launcher/cli/doctor/gpus.h"
#include "launcher/cli/doctor/installation.h"
#include "launcher/cli/doctor/limits.h"
#include "launcher/cli/doctor/memory_bandwidth.h"
#include "launcher/cli/doctor/rank_start.h"
#include "launcher/cli/doctor/run_root.h"
#include "launcher/cli/doctor/slurm_reach.h"
#include "launcher/cli/doctor/tiers.h"
#include "launcher/ranks/local/container_command.h"
#include "launcher/ranks/local/node_devices.h"

namespace slipway::launcher {
namespace {

using std::chrono::seconds;

/// Check "containers": the programs that `launch.container` could use.
struct FoundRuntime {
  ContainerRuntime runtime;
  std::string version;  ///< the first line of what it says
};

constexpr auto kContainerPatience = std::chrono::seconds(5);

/// Some say it on the one stream, some on the other.
std::string VersionOf(ContainerRuntime runtime) {
  SpawnOptions options;
  options.argv = {std::string(ProgramOf(runtime)), "--version"};
  options.environment = Environment::Inherited();
  if (!options.environment->Get("USER")) options.environment->Set("USER", "root");  // ch-run will not speak without it
  const auto said = RunAndCapture(std::move(options), kContainerPatience);
  const auto& text = said.output.empty() ? said.errors : said.output;
  return text.substr(0, text.find('\n'));
}

/// Cost: each that is there is asked for its version.
std::vector<FoundRuntime> ProbeContainers() {
  std::vector<FoundRuntime> found;
  for (const auto runtime : AllOf<ContainerRuntime>()) {
    if (FindProgram(std::string(ProgramOf(runtime)))) found.push_back({runtime, VersionOf(runtime)});
  }
  return found;
}

/// Pure. A machine without any is in order.
Findings JudgeContainers(const std::vector<FoundRuntime>& found) {
  if (found.empty()) return {Ok("containers", "nothing that runs them is here; launch.container cannot be used")};
  const auto text = [](const FoundRuntime& each) { return fmt::format("{} ({})", WordOf(each.runtime), each.version); };
  return {Ok("containers", JoinEach(found, ", ", text))};
}

/// Three starts, and six programs that are asked which MPI they are, each with its own limit.
constexpr auto kMpirunDeadline = 3 * kStartLimit + seconds(120);

constexpr auto kGpuDeadline = seconds(60);  // an idle driver wakes many GPUs in half a minute

ChosenEngine Chosen(EngineChoice asked) { return ChooseEngine(asked, LookForEngines(Environment::Inherited())); }

Findings LookAtEngine(EngineChoice asked) {
  const auto chosen = Chosen(asked);
  const auto reason = chosen.reason.empty() ? std::string("it is asked for") : chosen.reason;
  return {Ok("engine", fmt::format("{} ({})", WordOf(chosen.engine), reason))};
}

/// How runs on Slurm start several ranks, and why.
Findings LookAtStart(const DoctorRequest& request) try {
  const auto seen_from = NeedsJob(request.experiment) ? SeenFrom::kOtherHost : SeenFrom::kNodeOfRanks;
  const auto chosen = FindStart(request.start, request.mpi, seen_from);
  if (!chosen.doubt.empty()) return {Warn("ranks", chosen.doubt, "salloc -n 1 srun --mpi=list shows what nodes have")};
  const auto text = fmt::format("runs on Slurm start several by {}, for {}: {}", chosen.by.Way(),
                                FullNameOf(chosen.by.mpi), chosen.reason);
  if (IsUsualPairing(chosen.by)) return {Ok("ranks", text)};
  return {Warn("ranks", text + "; few installations can do that, so each run tries it with two ranks first",
               "launch.slurm.start: auto")};
} catch (const NoSuchStart& error) {  // submit refuses it, too
  return {Fail("ranks", error.message(), error.next_step())};
} catch (const Error& error) {
  return {Warn("ranks", fmt::format("{}; a job may find more on its nodes", error.message()), error.next_step())};
}

Findings LookAtSrun() {
  if (!Environment::Inherited().Get("SLURM_JOB_ID")) {
    return {Warn("srun", "not tried: this is no allocation", "salloc -n 2 slipway doctor --srun")};
  }
  Findings findings;
  for (const auto& start : TrySrun()) {
    const auto found = Judge(start);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  if (findings.empty()) findings.push_back(Warn("srun", "not found, or Slipway was built without MPI", ""));
  return findings;
}

}  // namespace

std::vector<Check> MachineChecks(const DoctorRequest& request) {
  std::vector<Check> checks{
      {"installation", seconds(5), [] { return Judge(ProbeInstallation()); }},
      {"engine", seconds(5), [asked = request.asked] { return LookAtEngine(asked); }},
      {"mpirun", kMpirunDeadline, [] { return JudgeMpirun(TryMpirun()); }},
  };
  if (Chosen(request.asked).engine == EngineChoice::kSlurm) {
    checks.push_back({"ranks", seconds(40), [request] { return LookAtStart(request); }});
  }
  if (request.try_srun) checks.push_back({"srun", 2 * (kStartLimit + seconds(10)), LookAtSrun});
  checks.push_back({"slurm", seconds(40), [] { return Judge(ProbeSlurm()); }});
  checks.push_back({"containers", seconds(40), [] { return JudgeContainers(ProbeContainers()); }});
  checks.push_back({"gpus", seconds(5), [] { return Findings{Ok("gpus", Describe(DevicesOfThisNode()))}; }});
  checks.push_back(
      {kGpuExchange, kGpuDeadline,
       [request] { return Judge(ProbeGpuExchange(request.experiment, request.surroundings)); },
       Warn(kGpuExchange, "the NVIDIA driver did not answer in time", "nvidia-smi shows whether it works")});
  checks.push_back({"tiers", seconds(10), [] { return Judge(ProbeTiers()); }});
  checks.push_back({"runs", seconds(10), [request] {
                      const bool for_slurm = Chosen(request.asked).engine == EngineChoice::kSlurm;
                      return Judge(ProbeRunRoot(request.runs_directory, for_slurm));
                    }});
  checks.push_back({"limits", seconds(5), [request] { return Judge(ProbeLimits(), request.experiment); }});
  checks.push_back({"direct copies", seconds(5), [] { return Judge(ProbeDirectCopies()); }});
  constexpr const char* kMemory = "memory bandwidth";
  checks.push_back({kMemory, seconds(10), [] { return Judge(ProbeMemoryBandwidth()); },
                    Warn(kMemory, "not measured in 10 s: other programs keep this machine busy",
                         "look for what else runs here: top")});
  return checks;
}

}  // namespace slipway::launcher

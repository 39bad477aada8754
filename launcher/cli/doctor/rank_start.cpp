#include "launcher/cli/doctor/rank_start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/install.h"
#include "launcher/ranks/local/two_ranks.h"

namespace slipway::launcher {
namespace {

/// Of a rank's gradients; below it the ranks share cores, or something else keeps the memory busy.
constexpr double kSlowExchange = 0.2e9;

// ---- starting

std::string_view LineAt(std::string_view text, std::size_t begin) {
  const auto rest = text.substr(std::min(begin, text.size()));
  return rest.substr(0, rest.find('\n'));
}

/// Open MPI begins with its name and version; Hydra, MPICH's starter, lists what it was built from, its version among
/// that.
std::string VersionOf(const std::string& program) {
  SpawnOptions options;
  options.argv = {program, "--version"};
  const auto text = RunAndCapture(std::move(options), std::chrono::seconds(5)).output;
  if (!text.starts_with("HYDRA")) return std::string(LineAt(text, 0));
  const auto line = LineAt(text, text.find("Version:"));
  return fmt::format("Hydra (MPICH) {}", line.substr(line.rfind(' ') + 1));
}

RankStart Start(std::string way, std::vector<std::string> starter, Mpi mpi) {
  RankStart start;
  start.way = std::move(way);
  start.version = VersionOf(starter.front());
  auto [captured, took] = StartTwoRanks(std::move(starter), mpi);
  start.captured = std::move(captured);
  start.took = took;
  return start;
}

std::optional<MpiLauncher> Find(std::optional<Mpi> mpi) try { return FindMpiLauncher(mpi); } catch (const Error&) {
  return {};
}

RankStart StartBy(const MpiLauncher& launcher) {
  StartOptions options;
  options.ranks = 2;
  options.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  options.root = ::geteuid() == 0;
  return Start(launcher.program, StartWords(launcher, options), launcher.mpi);
}

// ---- judging

Finding Broken(const RankStart& start, std::string text) {
  const auto remedy = start.is_default
                          ? "try it by hand: " + start.way + " -n 2 " + HelperProgram("doctor-ranks").string()
                          : "runs do not use it unless they are told to";
  return {start.is_default ? Grade::kFail : Grade::kWarn, start.way, std::move(text), remedy};
}

Finding JudgeExchange(const Measured& measured) {
  const auto text = fmt::format("two ranks: {:.3g} GB/s of gradients, small ones in {:.3g} us",
                                measured.bytes_per_s / 1e9, measured.small_s * 1e6);
  if (measured.bytes_per_s >= kSlowExchange) return Ok("exchange", text);
  return Warn("exchange", text + ", which is slow", "look for what else runs here: top");
}

}  // namespace

std::vector<RankStart> TryMpirun() {
  std::vector<RankStart> starts;
  if (!CanStartTwoRanks()) return starts;
  const auto usual = Find(std::nullopt);
  if (usual) starts.push_back(StartBy(*usual));
  for (const auto mpi : {Mpi::kOpenMpi, Mpi::kMpich}) {
    const auto other = Find(mpi);
    if (!other || !HasLibraryFor(mpi) || (usual && usual->mpi == mpi)) continue;
    starts.push_back(StartBy(*other));
    starts.back().is_default = false;
  }
  return starts;
}

std::vector<RankStart> TrySrun() {
  std::vector<RankStart> starts;
  if (!CanStartTwoRanks() || !FindProgram("srun")) return starts;
  for (const auto& [type, mpi] : {std::pair("pmix", Mpi::kOpenMpi), std::pair("pmi2", Mpi::kMpich)}) {
    const auto option = fmt::format("--mpi={}", type);
    starts.push_back(Start("srun " + option, {"srun", "-n", "2", option}, mpi));
    starts.back().is_default = false;
  }
  return starts;
}

Findings Judge(const RankStart& start) {
  if (auto why = WhyNotTogether(start.captured); !why.empty()) return {Broken(start, std::move(why))};
  const auto version = start.version.empty() ? "" : start.version + ": ";
  return {Ok(start.way, fmt::format("{}two ranks in {}", version, FormatDuration(start.took))),
          JudgeExchange(MeasuredIn(start.captured.output).front())};
}

Findings JudgeMpirun(const std::vector<RankStart>& starts) {
  Findings findings;
  for (const auto& start : starts) {
    auto found = Judge(start);
    if (!start.is_default) found.resize(1);  // one figure of the exchange is enough
    findings.insert(findings.end(), found.begin(), found.end());
  }
  if (findings.empty()) {
    findings.push_back(Warn("mpirun", "not found, or Slipway was built without MPI: runs have one rank here",
                            "install Open MPI or MPICH (Debian: apt install openmpi-bin libopenmpi-dev), and build "
                            "Slipway again if it was built without"));
  }
  return findings;
}

}  // namespace slipway::launcher

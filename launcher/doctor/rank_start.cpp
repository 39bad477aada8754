#include "launcher/doctor/rank_start.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"
#include "core/install.h"
#include "launcher/engines/local/ranks.h"

namespace slipway::launcher {
namespace {

constexpr int kRanks = 2;
/// Of a rank's gradients; below it the ranks share cores, or something else keeps the memory busy.
constexpr double kSlowExchange = 0.2e9;

std::string Helper() { return HelperProgram("doctor-ranks").string(); }
bool HasHelper() { return ::access(Helper().c_str(), X_OK) == 0; }

bool HasLibrary(Mpi mpi) {
  std::error_code error;
  return std::filesystem::exists(LibraryDirectory() / "slipway" / NameOf(mpi) / "libslipway.so", error);
}

/// The last line of the program itself, whose functions begin with their names; else the last line that is not empty.
std::string TellingLineOf(const std::string& text) {
  std::string own, last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r-") != std::string::npos) last = line;
    if (line.starts_with("slipway_")) own = line;
  }
  return own.empty() ? last : own;
}

// ---- starting

std::string VersionOf(const std::string& program) {
  SpawnOptions options;
  options.argv = {program, "--version"};
  const auto text = RunAndCapture(std::move(options), std::chrono::seconds(5)).output;
  return text.substr(0, text.find('\n'));
}

/// As the ranks of a run have it, and nothing of a job that this process is part of.
Environment EnvironmentFor(Mpi mpi) {
  auto environment = Environment::Inherited();
  LeaveMpiJob(environment);
  const auto libraries = LibrariesFor(mpi);
  if (libraries.empty()) return environment;
  const auto inherited = environment.Get("LD_LIBRARY_PATH").value_or("");
  environment.Set("LD_LIBRARY_PATH", libraries.string() + (inherited.empty() ? "" : ":" + inherited));
  return environment;
}

RankStart Start(std::string way, std::vector<std::string> words, Environment environment) {
  RankStart start;
  start.way = std::move(way);
  start.version = VersionOf(words.front());
  words.push_back(Helper());
  SpawnOptions options;
  options.argv = std::move(words);
  options.environment = std::move(environment);
  const auto began = SystemClock().Steady();
  start.captured = RunAndCapture(std::move(options), kStartLimit);
  start.took = SystemClock().Steady() - began;
  return start;
}

std::optional<MpiLauncher> Find(std::optional<Mpi> mpi) try { return FindMpiLauncher(mpi); } catch (const Error&) {
  return {};
}

RankStart StartBy(const MpiLauncher& launcher) {
  StartOptions options;
  options.ranks = kRanks;
  options.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  options.root = ::geteuid() == 0;
  return Start(launcher.program, StartWords(launcher, options), EnvironmentFor(launcher.mpi));
}

// ---- judging

/// What rank 0 printed, wherever banners put it.
struct Measured {
  int ranks = 0;
  double small_s = 0;
  double bytes_per_s = 0;
};

/// The lines of all ranks: each of several lone ranks prints one.
std::vector<Measured> MeasuredIn(const std::string& output) {
  std::vector<Measured> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Measured measured;
    const auto begin = line.find("doctor-ranks ");
    if (begin == std::string::npos) continue;
    if (std::sscanf(line.c_str() + begin, "doctor-ranks %d %lf %lf", &measured.ranks, &measured.small_s,
                    &measured.bytes_per_s) == 3) {
      all.push_back(measured);
    }
  }
  return all;
}

Finding Broken(const RankStart& start, std::string text) {
  const auto remedy = start.is_default ? "try it by hand: " + start.way + " -n 2 " + Helper()
                                       : "runs do not use it unless they are told to";
  return {start.is_default ? Grade::kFail : Grade::kWarn, start.way, std::move(text), remedy};
}

std::string WhyBroken(const RankStart& start) {
  const auto said = TellingLineOf(start.captured.errors);
  const auto words = said.empty() ? "" : ": " + said;
  if (start.captured.timed_out) {
    return fmt::format("two ranks did not come to their end in {}{}", FormatDuration(kStartLimit), words);
  }
  return fmt::format("two ranks ended with {}{}", start.captured.status.Describe(), words);
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
  if (!HasHelper()) return starts;
  const auto usual = Find(std::nullopt);
  if (usual) starts.push_back(StartBy(*usual));
  for (const auto mpi : {Mpi::kOpenMpi, Mpi::kMpich}) {
    const auto other = Find(mpi);
    if (!other || !HasLibrary(mpi) || (usual && usual->mpi == mpi)) continue;
    starts.push_back(StartBy(*other));
    starts.back().is_default = false;
  }
  return starts;
}

std::vector<RankStart> TrySrun() {
  std::vector<RankStart> starts;
  if (!HasHelper() || !FindProgram("srun")) return starts;
  for (const auto& [type, mpi] : {std::pair("pmix", Mpi::kOpenMpi), std::pair("pmi2", Mpi::kMpich)}) {
    const auto option = fmt::format("--mpi={}", type);
    starts.push_back(Start("srun " + option, {"srun", "-n", std::to_string(kRanks), option}, EnvironmentFor(mpi)));
    starts.back().is_default = false;
  }
  return starts;
}

Findings Judge(const RankStart& start) {
  const auto measured = MeasuredIn(start.captured.output);
  if (start.captured.timed_out || !start.captured.status.Success()) return {Broken(start, WhyBroken(start))};
  if (measured.empty()) return {Broken(start, "two ranks ended well, but said nothing")};
  if (measured.size() > 1 || measured.front().ranks != kRanks) {
    return {Broken(start, "started lone ranks instead of two of one job")};
  }
  const auto version = start.version.empty() ? "" : start.version + ": ";
  return {Ok(start.way, fmt::format("{}two ranks in {}", version, FormatDuration(start.took))),
          JudgeExchange(measured.front())};
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

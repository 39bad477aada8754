#include "launcher/cluster/sbatch.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "core/process.h"
#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kDuring = "submitting with sbatch";
constexpr std::size_t kMostErrorCharacters = 1000;

/// "12" or "12;cluster".
std::optional<JobIdentity> JobOn(std::string_view line) {
  JobIdentity job;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), job.id);
  const auto rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || job.id == 0 || !(rest.empty() || rest.front() == ';')) return {};
  if (!rest.empty()) job.cluster = rest.substr(1);
  return job;
}

/// The end of what it said: the beginning may be a banner.
std::string ErrorsOf(const Captured& captured) {
  std::string said;
  std::istringstream lines(captured.errors);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) said += (said.empty() ? "" : "; ") + line;
  }
  return said.size() > kMostErrorCharacters ? "..." + said.substr(said.size() - kMostErrorCharacters) : said;
}

[[noreturn]] void Throw(SlurmTrouble trouble, std::string text) {
  throw SlurmError({trouble, 0, std::move(text), std::string(kDuring)});
}

}  // namespace

std::optional<JobIdentity> SubmittedJobIn(std::string_view output) {
  std::optional<JobIdentity> job;
  std::istringstream lines{std::string(output)};
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (auto found = JobOn(line)) job = std::move(found);
  }
  return job;
}

Environment WithoutOptionsOfSbatch(const Environment& environment) {
  auto rest = environment;
  for (const auto& entry : environment.entries()) {
    if (entry.starts_with("SBATCH_")) rest.Unset(entry.substr(0, entry.find('=')));
  }
  return rest;
}

JobIdentity SubmitWithSbatch(const std::filesystem::path& script, std::chrono::milliseconds deadline) {
  SpawnOptions spawn;
  spawn.argv = {"sbatch", "--parsable", script.string()};
  spawn.environment = WithoutOptionsOfSbatch(Environment::Inherited());
  const auto captured = RunAndCapture(std::move(spawn), deadline);
  if (captured.timed_out) {
    const auto seconds = std::chrono::duration_cast<std::chrono::duration<double>>(deadline).count();
    Throw(SlurmTrouble::kTimeout, fmt::format("no answer in {} s; so far: '{}'", seconds, ErrorsOf(captured)));
  }
  if (!captured.status.Success() && captured.status.signal == 0) Throw(SlurmTrouble::kRefused, ErrorsOf(captured));
  auto job = SubmittedJobIn(captured.output);
  if (!job) Throw(SlurmTrouble::kHelper, fmt::format("it named no job ({})", captured.status.Describe()));
  return std::move(*job);
}

}  // namespace slipway::launcher

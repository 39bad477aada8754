#include "launcher/cluster/sbatch.h"

#include <fmt/format.h>

#include <charconv>

#include "core/lines.h"
#include "core/memory_file.h"
#include "core/process.h"
#include "core/text.h"
#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

/// "12" or "12;cluster".
std::optional<JobIdentity> JobOn(std::string_view line) {
  JobIdentity job;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), job.id);
  const auto rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || job.id == 0 || !(rest.empty() || rest.front() == ';')) return {};
  if (!rest.empty()) job.cluster = rest.substr(1);
  return job;
}

/// `during`: "submitting with sbatch". Errors: SlurmError when it has not ended with success.
Captured RunSbatch(SpawnOptions spawn, std::chrono::milliseconds deadline, const std::string& during) {
  auto captured = RunAndCapture(std::move(spawn), deadline);
  if (captured.timed_out) {
    const auto waited = std::chrono::duration_cast<std::chrono::duration<double>>(deadline).count();
    const auto text = fmt::format("no answer in {} s; so far: '{}'", waited, EndOfErrors(captured.errors));
    throw SlurmError({SlurmTrouble::kTimeout, 0, text, during});
  }
  if (!captured.status.Success() && captured.status.signal == 0) {
    throw SlurmError({SlurmTrouble::kRefused, 0, EndOfErrors(captured.errors), during});
  }
  return captured;
}

[[noreturn]] void ThrowUnread(std::string_view missing, const Captured& captured, const std::string& during) {
  throw SlurmError(
      {SlurmTrouble::kHelper, 0, fmt::format("it named no {} ({})", missing, captured.status.Describe()), during});
}

std::string_view Between(std::string_view line, std::string_view before, std::string_view after) {
  const auto begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + before.size());
  return line.substr(0, line.find(after));
}

/// Of sbatch: the script alone says what is asked for, and the job has nothing of one that this process is in. A token
/// by which its user is known to Slurm stays: without it sbatch would try another way.
Environment EnvironmentOfSbatch() {
  constexpr auto kToken = "SLURM_JWT";
  const auto own = Environment::Inherited();
  auto environment = WithoutOptionsOfSbatch(WithoutOwnJob(own));
  if (const auto token = own.Get(kToken)) environment.Set(kToken, *token);
  return environment;
}

std::optional<StartEstimate> EstimateOn(std::string_view line) {
  std::int64_t since_1970 = 0;
  if (!ParseNumber(Between(line, " to start at ", " "), since_1970) || since_1970 <= 0) return {};
  StartEstimate estimate;
  estimate.start = SlurmTime(std::chrono::seconds(since_1970));
  estimate.nodes = Between(line, " on nodes ", " ");
  estimate.partition = Between(line, " in partition ", " ");
  return estimate;
}

}  // namespace

std::optional<JobIdentity> SubmittedJobIn(std::string_view output) {
  std::optional<JobIdentity> job;
  for (auto& line : LinesOf(output)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (auto found = JobOn(line)) job = std::move(found);
  }
  return job;
}

Environment WithoutOwnJob(Environment environment) {
  const auto configuration = environment.Get("SLURM_CONF");
  environment.UnsetAll("SLURM");
  if (configuration) environment.Set("SLURM_CONF", *configuration);
  return environment;
}

Environment WithoutOptionsOfSbatch(Environment environment) { return std::move(environment.UnsetAll("SBATCH_")); }

JobIdentity SubmitWithSbatch(const std::filesystem::path& script, std::chrono::milliseconds deadline) {
  const std::string during = "submitting with sbatch";
  SpawnOptions spawn;
  spawn.argv = {"sbatch", "--parsable", script.string()};
  spawn.environment = EnvironmentOfSbatch();
  const auto captured = RunSbatch(std::move(spawn), deadline, during);
  auto job = SubmittedJobIn(captured.output);
  if (!job) ThrowUnread("job", captured, during);
  return std::move(*job);
}

std::optional<StartEstimate> EstimatedStartIn(std::string_view printed) {
  std::optional<StartEstimate> estimate;
  for (const auto& line : LinesOf(printed)) {
    if (auto found = EstimateOn(line)) estimate = std::move(found);
  }
  return estimate;
}

StartEstimate EstimateWithSbatch(const std::string& script, std::chrono::milliseconds deadline) {
  const auto input = FileInMemory(script);
  SpawnOptions spawn;
  spawn.argv = {"sbatch", "--test-only"};
  spawn.environment = EnvironmentOfSbatch();
  spawn.environment->Set("SLURM_TIME_FORMAT", "%s");
  spawn.stdin_fd = input.get();
  const auto captured = RunSbatch(std::move(spawn), deadline, "");
  auto estimate = EstimatedStartIn(captured.errors);
  if (!estimate) ThrowUnread("start", captured, "");
  return std::move(*estimate);
}

}  // namespace slipway::launcher

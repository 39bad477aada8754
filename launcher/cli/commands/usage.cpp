#include "launcher/cli/commands/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "core/clock.h"
#include "core/error.h"
#include "core/ownership.h"
#include "core/parse_utc.h"
#include "core/units.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/usage.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

std::optional<double> BeginOf(const UsageOptions& options, double now) {
  if (options.since.empty()) return {};
  const auto duration = ParseDuration(options.since);
  if (!duration) {
    throw Error(ErrorKind::kUsage, fmt::format("--since '{}' is no duration", options.since),
                "for example --since 30d");
  }
  return now - duration->count();
}

std::vector<UsageKey> KeysFrom(const UsageOptions& options) {
  std::vector<UsageKey> keys;
  for (const auto& word : options.by) {
    const auto key = FromWord<UsageKey>(word);
    if (!key) {
      throw Error(ErrorKind::kUsage, fmt::format("--by '{}' is unknown", word),
                  fmt::format("it is one of {}", fmt::join(AllWords<UsageKey>(), ", ")));
    }
    keys.push_back(*key);
  }
  return keys;
}

std::string OwnerOf(const std::filesystem::path& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 ? UserName(info.st_uid) : "unknown";
}

/// Without a question to Slurm: what a submitted run used ended with its manager, whatever becomes of its job.
RunState ReadStateOf(const RunFolder& folder) {
  auto state = folder.ReadState();
  if (ManagerIsGone(state)) EndAs(state, Phase::kLost, cause::ManagerLost{state.manager.pid, state.host});
  return state;
}

RunView ReadView(const RunFolder& folder, const RunState& state, Session& session) {
  auto view = ViewReader(folder).Read(Depth::kAccounting, state);
  for (const auto& warning : view.warnings) session.output.Warn(fmt::format("{}: {}", folder.id(), warning));
  return view;
}

/// The runs of its steps. What cannot be read is left out, with a warning.
void AddRunsOfStep(const RunFolder& workflow, const std::string& step, Session& session, std::vector<Accounting>& all) {
  for (const auto& run : ListRuns(StepFolder(workflow, step))) {
    try {
      all.push_back(ReadView(run, ReadStateOf(run), session).accounting.value_or(Accounting()));
    } catch (const Error& error) {
      session.output.Warn(fmt::format("{} of {} is left out: {}", run.id(), workflow.id(), error.message()));
    }
  }
}

/// For how long the programs of steps have run, by step: those that have ended, and those that run.
std::multimap<std::string, StepTime> TimesOfPrograms(const RunFolder& folder, const RunState& state, double now) {
  std::multimap<std::string, StepTime> times;
  for (auto& time : TimesOfSteps(folder.path())) times.emplace(time.step, std::move(time));
  if (HasEnded(state.phase)) return times;
  for (const auto& [step, record] : ReadStepJournal(folder.path())) {
    if (record.state != StepState::kRunning) continue;
    if (const auto since = UnixSecondsIn(record.time)) times.emplace(step, StepTime{step, std::max(0.0, now - *since)});
  }
  return times;
}

/// The runs and programs of its steps together; its own manager needs next to nothing.
UsedRun ReadUsedWorkflow(const RunFolder& folder, const RunState& state, double now, Session& session) {
  std::vector<Accounting> all;
  const auto times = TimesOfPrograms(folder, state, now);
  for (const auto& step : ReadStoredWorkflow(folder).steps) {
    const auto kind = FromWord<StepKind>(step.kind);
    if (kind == StepKind::kExperiment || kind == StepKind::kEnsemble) {
      AddRunsOfStep(folder, step.name, session, all);
      continue;
    }
    NodeShare share;
    share.cores = step.cpus;
    share.gpus = step.gpus;
    const auto [first, last] = times.equal_range(step.name);
    for (const auto& [name, time] : std::ranges::subrange(first, last)) {
      all.push_back(AccountForProgram(time.seconds, share, time.lost));
    }
  }
  return {OwnerOf(folder.path()), state.name, HasStepJobs(folder) ? "slurm" : "local", SumOf(all)};
}

/// Nothing for a run that began earlier, or that cannot be read.
std::optional<UsedRun> ReadUsedRun(const RunFolder& folder, std::optional<double> since, double now,
                                   Session& session) try {
  const auto state = ReadStateOf(folder);
  if (since && UnixSecondsIn(state.created).value_or(0) < *since) return {};
  if (IsWorkflowRun(folder)) return ReadUsedWorkflow(folder, state, now, session);
  const auto view = ReadView(folder, state, session);
  return UsedRun{OwnerOf(folder.path()), view.name, view.engine, view.accounting.value_or(Accounting())};
} catch (const Error& error) {
  session.output.Warn(fmt::format("{} is left out: {}", folder.id(), error.message()));
  return {};
}

}  // namespace

int ShowUsage(const UsageOptions& options, Session& session) {
  const double now = UnixSeconds(SystemClock().Now());
  const auto since = BeginOf(options, now);
  const auto keys = KeysFrom(options);
  std::vector<UsedRun> runs;
  for (const auto& folder : ListRuns(session.runs_directory)) {
    if (auto run = ReadUsedRun(folder, since, now, session)) runs.push_back(std::move(*run));
  }
  const auto usage = SumUsage(runs, keys);
  session.output.Print({ToJson(usage, since), Describe(usage), fmt::format("{:.2f}", usage.total.node_hours)});
  return 0;
}

}  // namespace slipway::launcher
